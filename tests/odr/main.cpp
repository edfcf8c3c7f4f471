// SPDX-License-Identifier: Apache-2.0
// Linked with two objects that each hold every header.
int main() {}
