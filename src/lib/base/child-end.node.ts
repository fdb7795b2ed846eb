import type { ChildProcess } from "node:child_process";
import { afterAwake } from "./awake.ts";
import type { Clock } from "./clock.ts";
import type { Millis } from "./time.ts";

/** How long a program's outputs are read after its end if a child keeps them open. */
const outputGrace: Millis = 1_000;

/**
 * Resolves with the exit code of a program, null after a signal, once its outputs have ended too, or a second after its
 * end. Rejects if it cannot be started. Must be called in the turn of the spawn.
 */
export function childEnd(child: ChildProcess, clock: Clock): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on("error", (failure) => {
      if (child.pid === undefined) reject(failure);
    });
    child.once("exit", () => {
      const cancel = afterAwake(clock, outputGrace, () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
      child.once("close", cancel);
    });
    child.once("close", (code) => resolve(code));
  });
}
