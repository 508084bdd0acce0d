"""Compares a dumped policy with the lists of its original.

usage: check-autocast-lists.py autocast-lists.json POLICY DUMP

DUMP is what --mpt-dump-policy printed. Prints each op whose class is another than
the original's, and each allowed or denied op that the original does not list and
that stands for none that it lists; then a count.
"""

import json
import sys

lists, policy, dump = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
original = lists[policy]
prefix = "tf." if policy.startswith("tf-") else "torch.aten."

# Functions of torch.nn.functional and torch, as aten ops. Empty: made of others.
APEX = {
    "conv_transpose2d": ["conv_transpose2d.input"],
    "conv_transpose3d": ["conv_transpose3d.input"],
    "interpolate": ["upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
                    "upsample_linear1d", "upsample_bilinear2d",
                    "upsample_trilinear3d", "upsample_bicubic2d"],
    "grid_sample": ["grid_sampler"],
    "softmin": ["softmax.int"],
    "softmax": ["softmax.int"],
    "log_softmax": ["log_softmax.int"],
    "local_response_norm": [],
    "normalize": [],
    "multilabel_soft_margin_loss": [],
    "cross_entropy": ["cross_entropy_loss"],
    "nll_loss": ["nll_loss", "nll_loss2d"],
    "pow": ["pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor"],
    "norm": ["norm.Scalar", "norm.ScalarOpt_dim"],
    "prod": ["prod", "prod.dim_int"],
    "std": ["std.dim", "std.correction"],
    "sum": ["sum", "sum.dim_IntList"],
    "var": ["var.dim", "var.correction"],
    "add": ["add.Tensor"],
    "div": ["div.Tensor"],
    "mul": ["mul.Tensor"],
    "eq": ["eq.Tensor"], "ge": ["ge.Tensor"], "gt": ["gt.Tensor"],
    "le": ["le.Tensor"], "lt": ["lt.Tensor"], "ne": ["ne.Tensor"],
    "equal": [],  # a Python bool
}
# Their weights come in lists or packed in one buffer; tables know no such form.
NO_ROW = {"_cudnn_rnn", "mkldnn_rnn_layer", "_native_multi_head_attention"}
# Their operands come in lists, whose types are of their own.
LISTS_OF_TENSORS = {"chain_matmul", "einsum", "linalg_multi_dot", "lstm_cell"}
# What torch-mlir has where PyTorch's autocast sees a composite op: a name stands
# for the listed one after it.
STANDS_FOR = {
    "allow": {
        "_prelu_kernel": "prelu",
        "_convolution.deprecated": "conv2d",
        "_convolution": "conv2d",
        "convolution": "conv2d",
        "convolution_overrideable": "conv2d",
        "convolution_backward": "conv2d",
        "convolution_backward_overrideable": "conv2d",
        "conv1d.padding": "conv1d",
        "conv2d.padding": "conv2d",
        "conv3d.padding": "conv3d",
        "cudnn_convolution": "conv2d",
        "cudnn_convolution_transpose": "conv2d",
        "_addmm_activation": "addmm",
        "_scaled_dot_product_flash_attention": "matmul",
        "_scaled_dot_product_flash_attention_for_cpu": "matmul",
        "_scaled_dot_product_flash_attention_backward": "matmul",
        "_scaled_dot_product_flash_attention_for_cpu_backward": "matmul",
        "scaled_dot_product_attention": "matmul",
        "_thnn_fused_lstm_cell": "linear",
        "_thnn_fused_gru_cell": "linear",
        "gru_cell": "linear",
        "rnn_tanh_cell": "linear",
        "rnn_relu_cell": "linear",
        "lstm_cell": "linear",
        "einsum": "bmm",
        "chain_matmul": "matmul",
        "linalg_multi_dot": "matmul",
    },
    "deny": {
        "_softmax": "softmax.int",
        "_log_softmax": "log_softmax.int",
        "_softmax_backward_data": "softmax.int",
        "_log_softmax_backward_data": "log_softmax.int",
        "native_layer_norm": "layer_norm",
        "native_layer_norm_backward": "layer_norm",
        "native_group_norm": "group_norm",
        "native_group_norm_backward": "group_norm",
        "gelu_backward": "gelu",
        "mse_loss_backward": "mse_loss",
        "cross_entropy_loss": "nll_loss",
        "nll_loss_forward": "nll_loss",
        "nll_loss_backward": "nll_loss",
        "nll_loss2d_forward": "nll_loss",
        "nll_loss2d_backward": "nll_loss",
        "upsample_nearest2d.vec": "upsample_nearest2d",
        "upsample_bilinear2d.vec": "upsample_bilinear2d",
        "norm.ScalarOpt_dim_dtype": "norm.ScalarOpt_dim",
        "max_pool3d_with_indices": "max_pool3d",
        "binary_cross_entropy": "binary_cross_entropy_with_logits",
    },
}
# Denied whatever the policy: complex numbers, decompositions and order statistics,
# which have no low form.
NO_LOW_FORM = ("fft_", "linalg_", "quantile", "nanquantile", "stft", "polar",
               "view_as_complex", "inverse", "pinverse", "cholesky_", "lu_solve",
               "orgqr", "ormqr", "geqrf", "_lu_with_info", "svd", "triangular_solve")

classes = {}
for line in open(dump):
    if line.startswith("# ") and prefix in line:
        _, name_class, name, *_ = line.split()
        if name.startswith(prefix):
            classes[name[len(prefix):]] = name_class

differences, checked = 0, 0


def report(*text):
    global differences
    differences += 1
    print(*text)


listed = {}
for kind in ("allow", "deny", "infer", "clear", "promote"):
    for name in original.get(kind, []):
        for op in APEX.get(name, [name]) if policy.startswith("apex") else [name]:
            listed[op] = kind
for op, kind in listed.items():
    found = classes.get(op, "no row")
    checked += 1
    if op in NO_ROW:
        if found != "no row":
            report(op, "has a row now")
    elif kind == "promote":
        # Follows what it reads; a list of tensors may have one type.
        if found not in ("infer", "clear", "stable", "fixed"):
            report(op, "promotes, but is", found)
    elif kind == "allow" and op in LISTS_OF_TENSORS:
        if found not in ("fixed", "allow"):
            report(op, "is on the list allow but is", found)
    elif found != kind:
        report(op, "is on the list", kind, "but is", found)
for op, found in classes.items():
    if found not in ("allow", "deny") or op in listed:
        continue
    instead = STANDS_FOR[found].get(op)
    if instead is None or listed.get(instead) != found:
        if not (found == "deny" and op.startswith(NO_LOW_FORM)):
            report(op, "is", found, "but on no list of the original")
print(f"{policy}: {checked} names, {differences} difference(s)")
