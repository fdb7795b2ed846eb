import { open } from "node:fs/promises";
import { join } from "node:path";
import { bring, type Brought, linesOfBatch } from "../load/brought-lines.ts";

// Floor of wharf-api's log store: the messages of a batch are one write, flushed every tenth time. Nothing is looked up or numbered, and nobody could find
// a line again.

export const run = (load: Brought) =>
  bring(load, async (batches, message, round) => {
    const file = await open(join(load.dir, `floor-${round % 2}`), "w");
    for (let batch = 0; batch < batches; batch++) {
      await file.write(Buffer.from(Array.from({ length: linesOfBatch }, () => `${message}\n`).join("")));
      if (batch % 10 === 9) await file.datasync();
    }
    await file.datasync();
    const { size } = await file.stat();
    await file.close();
    return size / (message.length + 1);
  });
