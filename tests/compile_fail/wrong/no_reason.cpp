// SPDX-License-Identifier: Apache-2.0
#ifdef TESSERA_EXPECT_ERROR
using number = of_no_type;
#else
using number = int;
#endif
