// The lists of presets that have an original are its lists: Inputs/autocast-lists.json
// holds them, taken from the files that it names.
//
// RUN: mpt-opt %s --mpt-dump-policy="policy=torch-cuda dialects=torch" -o /dev/null 2> %t.torch-cuda
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json torch-cuda %t.torch-cuda | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=torch-cuda type=bf16 dialects=torch" -o /dev/null 2> %t.torch-cuda
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json torch-cuda %t.torch-cuda | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=torch-cpu dialects=torch" -o /dev/null 2> %t.torch-cpu
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json torch-cpu %t.torch-cpu | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=torch-cpu type=f16 dialects=torch" -o /dev/null 2> %t.torch-cpu
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json torch-cpu %t.torch-cpu | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=apex-O1 dialects=torch" -o /dev/null 2> %t.apex-O1
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json apex-O1 %t.apex-O1 | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=tf-fp16 dialects=tf" -o /dev/null 2> %t.tf-fp16
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json tf-fp16 %t.tf-fp16 | FileCheck %s
// RUN: mpt-opt %s --mpt-dump-policy="policy=tf-bf16 dialects=tf" -o /dev/null 2> %t.tf-bf16
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json tf-bf16 %t.tf-bf16 | FileCheck %s
//
// A change of a list is seen.
// RUN: mpt-opt %s --mpt-dump-policy="policy=torch-cuda dialects=torch allow=torch.aten.exp deny=torch.aten.mul.Tensor" -o /dev/null 2> %t.changed
// RUN: %python %S/Inputs/check-autocast-lists.py %S/Inputs/autocast-lists.json torch-cuda %t.changed | FileCheck %s --check-prefix=CHANGED

// CHECK-NOT: {{.}}
// CHECK: {{^(torch-cuda|torch-cpu|apex-O1|tf-fp16|tf-bf16): [1-9][0-9]+ names, 0 difference}}
// CHANGED: exp is on the list deny but is allow
// CHANGED: mul.Tensor is deny but on no list of the original
module {}
