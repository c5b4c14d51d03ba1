/* Sampled k-mers of a text: all positions whose k-mer hash falls under `limit`, in any order.
 * Rolling hash h = sum of (symbol + 1) * MULTIPLIER^(K - 1 - q), mixed; one work-item a piece of `piece` positions.
 *   hashes ulong, positions int [capacity];  count int [1]: how many there were, also beyond the capacity
 */

#define MULTIPLIER 0x9E3779B97F4A7C15UL

__kernel void sample(__global const uchar* restrict text, const long length, const long piece, const ulong limit, const int capacity,
                     __global ulong* restrict hashes, __global long* restrict positions, __global int* restrict count) {
    const long begin = get_global_id(0) * piece;
    const long end = begin + piece < length - K + 1 ? begin + piece : length - K + 1;
    if (begin >= end) return;
    ulong hash = 0, power = 1;
    for (int q = 0; q < K - 1; q++) {
        hash = hash * MULTIPLIER + text[begin + q] + 1;
        power *= MULTIPLIER;
    }
    for (long i = begin; i < end; i++) {
        hash = hash * MULTIPLIER + text[i + K - 1] + 1;
        ulong mixed = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93UL;
        mixed ^= mixed >> 32;
        if (mixed < limit) {
            const int slot = atomic_inc(count);
            if (slot < capacity) {
                hashes[slot] = mixed;
                positions[slot] = i;
            }
        }
        hash -= (text[i] + 1) * power;
    }
}
