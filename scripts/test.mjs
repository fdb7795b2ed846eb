// `npm test`: everything that has to pass. Installs what the tests need from Debian's packages when run as root there, checks, then
// runs the projects that start real programs.
import { spawnSync } from "node:child_process";
import { ensureAllTestTools } from "./test-tools.mjs";

const run = (program, ...args) => spawnSync(program, args, { stdio: "inherit" }).status === 0;

if (!ensureAllTestTools() || !run("node", "scripts/build.mjs")) process.exit(1);
const programs = ["alone", "cluster", "containers", "crash", "e2e"].flatMap((project) => ["--project", project]);
// These take minutes, so that people see them pass; a log holds what fails.
const reporter = process.stdout.isTTY ? "default" : "minimal";
const passed =
  run("node", "scripts/check.mjs", "--all") &&
  run("node_modules/.bin/vitest", "run", `--reporter=${reporter}`, ...programs);
process.exit(passed ? 0 : 1);
