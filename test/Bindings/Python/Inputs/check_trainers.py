"""Runs the code of a page of docs, and checks what it has trained: check_trainers.py PAGE"""
import copy
import os
import re
import shutil
import sys

import torch

page = sys.argv[1]
code = "\n".join(re.findall(r"```python\n(.*?)```", open(page).read(), re.S))
names = {}
exec(compile(code, page, "exec"), names)
trainer = names["trainer"]


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.values(), b.values(), strict=True))


if page.endswith("HuggingFace.md"):
    import transformers
    folders = sorted(os.listdir("output"), key=lambda n: int(n.rsplit("-", 1)[1]))
    print("checkpoints:", *folders)
    final = copy.deepcopy(trainer.step.state_dict())
    print("synchronized:", equal(final, trainer.model.state_dict()))
    # A new trainer that goes on after the second epoch ends with the same bits.
    for folder in folders[2:]:
        shutil.rmtree(os.path.join("output", folder))
    model = transformers.BertForSequenceClassification(trainer.model.config)
    again = names["MPTTrainer"](model=model, train_dataset=names["data"][:448],
                                args=trainer.args)
    again.train(resume_from_checkpoint=True)
    print("resumed:", equal(final, again.step.state_dict()))

    def train(rows, parts):
        torch.manual_seed(0)
        again = names["MPTTrainer"](
            model=transformers.BertForSequenceClassification(model.config),
            train_dataset=names["data"][:416], args=transformers.TrainingArguments(
                "parts", use_cpu=True, num_train_epochs=1, per_device_train_batch_size=rows,
                gradient_accumulation_steps=parts, save_strategy="no", report_to="none",
                logging_steps=5))
        again.train()
        return again.step.state_dict(), [entry["loss"] for entry in again.state.log_history
                                         if "loss" in entry]

    # 416 rows are 7 batches of 64, the last one of 32, or 26 of 16, of which the last two are one step.
    whole, parts = train(64, 1), train(16, 4)
    print("parts:", equal(whole[0], parts[0]), whole[1] == parts[1])
else:
    import lightning
    module = trainer.lightning_module
    final = module.step.state_dict()
    path = trainer.checkpoint_callback.best_model_path
    saved = torch.load(path, weights_only=False)
    print("checkpoint:", os.path.basename(path), saved["global_step"])
    print("saved:", equal(final, {k.removeprefix("model."): v
                                  for k, v in saved["state_dict"].items()}))
    momenta = saved["optimizer_states"][0]["state"]
    print("optimizer's state:", len(momenta), all(m["exp_avg"].any() for m in momenta.values()))
    # A new module goes on from the file, with the state of the optimizer.
    other = names["Classifier"]()
    more = lightning.Trainer(accelerator="cpu", max_epochs=5, default_root_dir="more",
                             limit_train_batches=1, enable_progress_bar=False)
    loader = torch.utils.data.DataLoader(names["train"], 32)
    more.fit(other, loader, ckpt_path=path)
    batch = next(iter(loader))
    module.step(*batch)
    print("resumed:", equal(module.step.state_dict(), other.step.state_dict()))
