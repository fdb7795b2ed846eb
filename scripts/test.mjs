// `npm test`: everything that has to pass. Installs what the tests need from Debian's packages when run as root there, then checks, and runs the
// projects that start real programs beside that: those mostly wait.
import { spawn, spawnSync } from "node:child_process";
import { ensureAllTestTools } from "./test-tools.mjs";
import { noteTimes } from "./test-times.mjs";

const build = spawnSync("node", ["scripts/build.mjs"], { stdio: "inherit" });
if (!ensureAllTestTools() || build.status !== 0) process.exit(1);

const run = (program, ...args) =>
  new Promise((resolve) => spawn(program, args, { stdio: "inherit" }).on("close", (code) => resolve(code === 0)));
// These take minutes, so that people see them pass; a log holds what fails.
const reporter = process.stdout.isTTY ? "default" : "minimal";
const test = (...projects) =>
  run("node_modules/.bin/vitest", "run", `--reporter=${reporter}`, ...projects.map((name) => `--project=${name}`));
const printTimes = noteTimes();
const passed = await Promise.all([
  run("node", "scripts/check.mjs", "--all"),
  test("alone", "cluster", "containers", "crash", "e2e"),
  // Its files share a server, so that one runs at a time: a process of its own lets it run beside the others.
  test("browser"),
]);
printTimes();
process.exitCode = passed.every(Boolean) ? 0 : 1;
