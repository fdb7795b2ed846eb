// `npm test`: everything that has to pass. Installs what the tests need from Debian's packages when run as root there, then checks, and runs the
// projects that start real programs beside that: those mostly wait.
import { spawn, spawnSync } from "node:child_process";
import { ensureAllTestTools } from "./test-tools.mjs";
import { noteTimes } from "./test-times.mjs";

const build = spawnSync("node", ["scripts/build.mjs"], { stdio: "inherit" });
if (!ensureAllTestTools() || build.status !== 0) process.exit(1);

const run = (program, ...args) =>
  new Promise((resolve) => spawn(program, args, { stdio: "inherit" }).on("close", (code) => resolve(code === 0)));
const programs = ["alone", "browser", "cluster", "containers", "crash", "e2e"].flatMap((project) => [
  "--project",
  project,
]);
// These take minutes, so that people see them pass; a log holds what fails.
const reporter = process.stdout.isTTY ? "default" : "minimal";
const printTimes = noteTimes();
const passed = await Promise.all([
  run("node", "scripts/check.mjs", "--all"),
  run("node_modules/.bin/vitest", "run", `--reporter=${reporter}`, ...programs),
]);
printTimes();
process.exitCode = passed.every(Boolean) ? 0 : 1;
