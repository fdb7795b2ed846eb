// Floor of B6: the files of this directory are copied for each step, and a shell does nothing there, with its output in pipes. Plain, as it is a
// whole command that is measured.
//   node bench/floors/host-steps.mjs STEPS
import { spawn } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const work = await mkdtemp(join(tmpdir(), "host-steps-"));
try {
  await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, step) => runStep(join(work, String(step)))));
} finally {
  await rm(work, { recursive: true });
}

async function runStep(directory) {
  await cp(".", directory, { recursive: true, filter: (path) => path !== ".git" });
  const shell = spawn("bash", ["-c", "true"], { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  for (const output of [shell.stdout, shell.stderr]) output.resume();
  const code = await new Promise((resolve, reject) => shell.on("error", reject).on("close", resolve));
  if (code !== 0) throw new Error(`a shell ended with ${code}`);
}
