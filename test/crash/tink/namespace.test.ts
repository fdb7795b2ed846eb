import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { Namespace } from "./namespace.ts";

let directory: string;
let machine: Namespace;
beforeEach(async () => {
  directory = await temporaryDirectory();
  machine = await Namespace.open();
});
afterEach(async () => {
  machine.close();
  await removeDirectory(directory);
});

test("when the power of a machine goes, nobody on it sees another end, and nobody is left", async () => {
  const told = join(directory, "told");
  // Who began first holds a pipe, and who began last is told when that ends; between them many come and go.
  const pipe = join(directory, "pipe");
  const script = `mkfifo ${pipe}; sleep 1000 >${pipe} &
    for n in $(seq 300); do sleep 1000 & done
    for n in 1 2; do sh -c 'while :; do /bin/true; done' & done
    { exec 3<${pipe}; echo up; cat <&3; echo outlived >${told}; } & wait`;
  const shell = machine.spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  // Its pipe is held by all of them: it closes with the last one.
  const [out, closed] = [shell.stdout, once(shell, "close")];
  if (out === null) throw new Error("the shell has no output");
  await once(out, "data");
  await machine.powerOff();
  await closed;
  expect(shell.signalCode).toBe("SIGKILL");
  expect(await readFile(told, "utf8").catch(() => "nobody")).toBe("nobody");
});
