// SPDX-License-Identifier: Apache-2.0
// What check.py refuses, and below what it does not.
KERNEL(plane_sums) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        total += x[i] * a.n[1 + d] * a.f[2];
    }
}
void launch(kernel_numbers& k) {
    k.n[3] = 1;
    const index_t* const n = k.n;
    use(n[12], k.numbers.n[5]);
}

KERNEL(named, plane_numbers) { total += a.n.in[0] * a.n.extents[d] + a.f.scale; }
void fine(const std::string& column, int at) { use(column[0], k.n[at], k.n[begin_at(2)]); }
