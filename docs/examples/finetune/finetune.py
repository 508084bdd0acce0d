"""Fine-tunes a BERT to tell a package's section: finetune.py DATA MODEL.

Prints a table of the accuracy on the test rows, mean and standard deviation over the seeds:
from random initial values and from MODEL, which pretrain.py wrote. All weights are trained
("whole"), or those of the encoder stay as they are ("frozen"), or it gets LoRA adapters by
peft ("lora"). The seed chooses the initial values of what is new, the order of the rows and
dropout.
"""

import argparse
import os

import numpy
import peft
import torch
import transformers

import mpt.torch

METHODS = {"whole": 5e-4, "frozen": 1e-2, "lora": 5e-3}  # and the learning rate of each


class Classifier(torch.nn.Module):
    """A linear layer on the mean of what the encoder gives for a text's tokens."""

    def __init__(self, encoder, classes):
        super().__init__()
        self.encoder = encoder
        self.dropout = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(encoder.config.hidden_size, classes)

    def forward(self, ids, mask):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        mask = mask.unsqueeze(-1).to(states.dtype)
        return self.head(self.dropout((states * mask).sum(1) / mask.sum(1)))


def make_model(folder, pretrained, method, classes):
    if pretrained:
        encoder = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
    else:
        encoder = transformers.BertModel(transformers.BertConfig.from_pretrained(folder),
                                         add_pooling_layer=False)
    if method == "frozen":
        encoder.requires_grad_(False)
    elif method == "lora":
        encoder = peft.get_peft_model(encoder, peft.LoraConfig(
            r=8, lora_alpha=16, lora_dropout=0.1, target_modules=["query", "value"]))
    return Classifier(encoder, classes).train()


def loss(model, ids, mask, labels):
    return torch.nn.functional.cross_entropy(model(ids, mask), labels)


def predict(model, ids, mask):
    return model(ids, mask).argmax(-1)


def train(model, rate, rows, arguments, precision, seed):
    """Trains, and leaves the result in the model. Returns the step."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], rate,
                                  weight_decay=0.01)
    generator = torch.Generator().manual_seed(seed)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*rows), arguments.batch,
                                         shuffle=True, drop_last=True, generator=generator)
    steps = arguments.epochs * len(loader)
    scheduler = transformers.get_cosine_schedule_with_warmup(optimizer, steps // 10, steps)
    step = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=next(iter(loader)),
                               precision=precision, clip_norm=1.0, seed=seed,
                               threads=arguments.threads)
    for _ in range(arguments.epochs):
        for batch in loader:
            step(*batch)
            scheduler.step()
    step.sync_to(model)
    return step


def load_rows(data, name, padding):
    x, y = (torch.from_numpy(numpy.load(os.path.join(data, f"{name}_{part}.npy")))
            for part in "xy")
    return x, (x != padding).long(), y


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--precisions", default="f32,f16")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=30)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    padding = transformers.BertConfig.from_pretrained(arguments.model).pad_token_id
    train_rows = load_rows(arguments.data, "train", padding)
    ids, mask, labels = load_rows(arguments.data, "test", padding)
    precisions = arguments.precisions.split(",")
    print(f"{'trained':8}{'initial values':>16}" + "".join(f"{p:>16}" for p in precisions))
    for method in arguments.methods.split(","):
        for pretrained in False, True:
            line = f"{method:8}{'pre-trained' if pretrained else 'random':>16}"
            for precision in precisions:
                accuracies = []
                for seed in range(arguments.seeds):
                    torch.manual_seed(seed)
                    model = make_model(arguments.model, pretrained, method, int(labels.max()) + 1)
                    step = train(model, METHODS[method], train_rows, arguments, precision, seed)
                    found = step.evaluator(predict)(ids, mask)
                    accuracies.append(100 * (found == labels).float().mean().item())
                line += f"{numpy.mean(accuracies):8.1f} % ± {numpy.std(accuracies):4.1f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
