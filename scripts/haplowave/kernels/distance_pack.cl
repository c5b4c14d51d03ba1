// From bytes to bit planes, on the device, so that the host only copies.
//
// seen:  which of the 256 byte values occur, as 8 words of 32 flags
// pack:  symbols translated by a table of 256 codes, then spread over BITS planes (layout: distance_planes.cl)

#include "distance_planes.cl"

__kernel void seen(__global const uchar *restrict text, const long length, __global uint *restrict flags) {
    __local uint group_flags[8];
    const uint lane = get_local_id(0);
    for (uint index = lane; index < 8; index += get_local_size(0)) group_flags[index] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // consecutive items read consecutive words of 4 bytes: coalesced
    const long groups = (length + 3) / 4;
    ulong mask0 = 0, mask1 = 0, mask2 = 0, mask3 = 0;
    for (long word = get_global_id(0); word < groups; word += get_global_size(0))
        for (int byte = 0; byte < 4; byte++) {
            const long position = word * 4 + byte;
            if (position >= length) break;
            const uchar value = text[position];
            const ulong bit = 1UL << (value & 63);
            mask0 |= value < 64 ? bit : 0;
            mask1 |= (value >= 64 && value < 128) ? bit : 0;
            mask2 |= (value >= 128 && value < 192) ? bit : 0;
            mask3 |= value >= 192 ? bit : 0;
        }
    const ulong masks[4] = {mask0, mask1, mask2, mask3};
    for (int index = 0; index < 4; index++) {
        if ((uint)masks[index]) atomic_or(&group_flags[2 * index], (uint)masks[index]);
        if (masks[index] >> 32) atomic_or(&group_flags[2 * index + 1], (uint)(masks[index] >> 32));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint index = lane; index < 8; index += get_local_size(0))
        if (group_flags[index]) atomic_or(&flags[index], group_flags[index]);
}

// `text` is the slice of the string that starts at symbol 32 * first_word; words low .. high - 1 of the string go to `planes`
__kernel void pack(__global const uchar *restrict text, const long length, __global const uchar *restrict codes,
                   __global uint *restrict planes, const long first_word, const long low, const long high) {
    __local uchar table[256];
    for (uint value = get_local_id(0); value < 256; value += get_local_size(0)) table[value] = codes[value];
    barrier(CLK_LOCAL_MEM_FENCE);
    const long word = get_global_id(0);
    const long where = first_word + word - low;
    if (word * 32 >= length || where < 0 || where >= high - low) return;
    uint out[BITS];
    for (int plane = 0; plane < BITS; plane++) out[plane] = 0;
    const int count = (int)min(32L, length - word * 32);
    for (int symbol = 0; symbol < count; symbol++) {
        const uint code = table[text[word * 32 + symbol]];
        for (int plane = 0; plane < BITS; plane++) out[plane] |= ((code >> plane) & 1u) << symbol;
    }
    for (int plane = 0; plane < BITS; plane++) planes[(PAD + where) * BITS + plane] = out[plane];
}
