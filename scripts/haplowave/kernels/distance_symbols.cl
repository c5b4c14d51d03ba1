/* Which byte values occur, and their replacement by numbers: code = number[byte]. One work-item a piece of `piece` bytes.
 *   seen uchar [256], set to 1 where the value occurs;  code uchar [256];  out uchar [length]
 */

__kernel void presence(__global const uchar* text, const long length, const long piece, __global uchar* seen) {
    const long begin = get_global_id(0) * piece, end = min(begin + piece, length);
    for (long i = begin; i < end; i++) seen[text[i]] = 1; /* all writers write the same */
}

__kernel void recode(__global const uchar* text, const long length, const long piece, __global const uchar* code, __global uchar* out) {
    const long begin = get_global_id(0) * piece, end = min(begin + piece, length);
    for (long i = begin; i < end; i++) out[i] = code[text[i]];
}
