// Everything a program needs: masks, layers, the runtime. Start at layer.h.
#pragma once

#include "sparsejit/conv2d.h"
#include "sparsejit/error.h"
#include "sparsejit/layer.h"
#include "sparsejit/mask.h"
#include "sparsejit/mask_files.h"
#include "sparsejit/runtime.h"
#include "sparsejit/tensor_view.h"
