// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dnnl.h>
#include <zlib.h>
