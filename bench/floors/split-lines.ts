import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Load, print } from "../load/printed-lines.ts";

// Floor of log intake: bytes from a pipe into a file, with each newline looked for. Nothing is stamped, and nobody could find a line again.

export const run = (load: Load) =>
  print(load, async (output, round) => {
    const file = await open(join(load.dir, `floor-${round % 2}`), "w");
    let lines = 0;
    for await (const chunk of output as AsyncIterable<Buffer>) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
      await file.write(chunk);
    }
    await file.datasync();
    await file.close();
    return lines;
  });
