"""A model of transformers that needs a mask which it makes itself in eager PyTorch alone."""
import torch
import transformers

import mpt.torch

torch.manual_seed(0)
model = transformers.LongT5ForConditionalGeneration(transformers.LongT5Config(
    vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, local_radius=4,
    decoder_start_token_id=0, dropout_rate=0.0))
x, y = torch.randint(3, 40, (2, 16)), torch.randint(3, 40, (2, 9))
try:
    mpt.torch.export(model, lambda model, x, y: model(input_ids=x, labels=y).loss, (x, y))
except mpt.torch.ExportError as error:
    print("absent:", str(error).replace("\n", " "))


def loss(model, x, y):
    return model(input_ids=x, attention_mask=torch.ones_like(x),
                 decoder_attention_mask=torch.ones_like(y), labels=y).loss


expected = loss(model, x, y).item()
step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.1), (x, y))
print("given:", abs(step(x, y).loss - expected) < 1e-5)
