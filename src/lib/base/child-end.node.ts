import type { ChildProcess } from "node:child_process";
import { afterAwake } from "./awake.ts";
import type { Clock } from "./clock.ts";
import type { Millis } from "./time.ts";

/** How long after its end the outputs of a program are read when something that it has left running keeps them open. */
const outputGrace: Millis = 1_000;

/**
 * Resolves with the exit code of a program, null after a signal, when its outputs have ended, too; a second after its end at the latest, of
 * those in which this process is at work, and nothing more is read of them then. Rejects when it cannot be started; a program that its signal ends is
 * waited for. Asked in the turn of the spawn.
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
