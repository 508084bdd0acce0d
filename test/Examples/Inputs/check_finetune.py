"""Checks the fine-tuning example: check_finetune.py EXAMPLE DATA MODEL PRETRAIN_LOG."""

import argparse
import re
import sys

import peft
import torch
import transformers

example, data, folder, log = sys.argv[1:]
sys.path.insert(0, example)
import finetune

losses = [float(loss) for loss in re.findall(r"step .*: loss (.*)", open(log).read())]
print("masked words:", len(losses) == 20 and losses[-1] < losses[0] - 0.5)

rows = finetune.load_rows(data, "train", 0)
ids, mask, _ = (part[:50] for part in finetune.load_rows(data, "test", 0))
arguments = argparse.Namespace(batch=30, epochs=1, threads=1)


def load_encoder(path):
    return transformers.BertModel.from_pretrained(path, add_pooling_layer=False)


def equal(found, expected):
    return found.keys() == expected.keys() and all(
        torch.equal(value, expected[name]) for name, value in found.items())


def train(method):
    """The model, its step, and the names of what training has changed."""
    torch.manual_seed(0)
    model = finetune.make_model(folder, True, method, 10)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    encoder = model.encoder.unload() if method == "lora" else model.encoder
    print(f"{method}: starts from the file:",
          equal(encoder.state_dict(), load_encoder(folder).state_dict()))
    if method == "lora":  # unload() took the adapters out
        torch.manual_seed(0)
        model = finetune.make_model(folder, True, method, 10)
    step = finetune.train(model, 1e-2, rows, arguments, "f32", 0)
    return model, step, {name for name, value in model.state_dict().items()
                         if not torch.equal(value, before[name])}


def same_predictions(model, step):
    with torch.no_grad():
        expected = model.eval()(ids, mask)
    return torch.allclose(step.evaluator(lambda model, ids, mask: model(ids, mask))(ids, mask),
                          expected, rtol=1e-4, atol=1e-4)


def load_classifier(encoder, model):
    again = finetune.Classifier(encoder, 10)
    again.head = model.head
    return again


model, step, changed = train("whole")
print("all are trained:", changed == {name for name, _ in model.named_parameters()})
model.encoder.save_pretrained("whole")
again = load_encoder("whole")
print("saved and loaded:", equal(again.state_dict(), model.encoder.state_dict())
      and same_predictions(load_classifier(again, model), step))

model, step, changed = train("frozen")
print("trained:", sorted(changed))

model, step, changed = train("lora")
adapters = {name for name, _ in model.named_parameters() if "lora_" in name}
print("trained:", *sorted({name.split(".")[-3] if name in adapters else name for name in changed}))
print("all are trained:", changed == adapters | {"head.weight", "head.bias"})
model.encoder.save_pretrained("lora")
again = peft.PeftModel.from_pretrained(load_encoder(folder), "lora")
print("saved and loaded:", same_predictions(load_classifier(again, model), step))
