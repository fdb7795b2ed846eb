// A server of its own in a temporary directory, and examples of every dialect that run on it.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const place = mkdtempSync(join(tmpdir(), "slipway-screenshots-"));
const data = join(place, "data");

const env = {
  PATH: process.env.PATH,
  LANG: "C.UTF-8",
  HOME: place,
  XDG_RUNTIME_DIR: place,
  SLIPWAY_KUBECONFIG: join(data, "kubeconfig"),
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "user.name",
  GIT_CONFIG_VALUE_0: "anna",
  GIT_CONFIG_KEY_1: "user.email",
  GIT_CONFIG_VALUE_1: "anna@example.org",
};
const started = [];

function start(more, ...args) {
  const child = spawn(process.execPath, ["bin/slipway.cjs", ...args], {
    cwd: root,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "ignore"],
  });
  started.push(child);
  return child;
}

/** What it printed on both streams. */
function run(program, args, { input, codes = [0] } = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, env, input, encoding: "utf8" });
  if (!codes.includes(status)) throw new Error(`${program} ${args.join(" ")} ended with ${status}\n${stderr}${stdout}`);
  return stdout + stderr;
}
/** Runs a command of the command line on this server. */
export const slipway = (args, options) => run(process.execPath, ["bin/slipway.cjs", ...args], options);

/** Resolves with the address of the server, once it has printed everything. */
export async function startServer() {
  const listen = ["tink", "rebar", "wharf", "wharf-provisioner"].flatMap((name) => [`--${name}-listen`, "127.0.0.1:0"]);
  const server = start({}, "up", "--data-dir", data, "--port", "0", "--rebar-files", "off", ...listen);
  let text = "";
  for await (const chunk of server.stdout) {
    text += chunk;
    const [url, rebar] = [/ready at (\S+)/.exec(text)?.[1], /RS_ENDPOINT=(\S+)/.exec(text)?.[1]];
    if (url !== undefined && rebar !== undefined) return { url, rebar };
  }
  throw new Error(`the server has ended\n${text}`);
}

/** Runs that succeed, one that fails, and some that wait or go on. Resolves with the name of the one that fails. */
export function runExamples({ rebar }) {
  const release = (source) => ["--param", `source=${source}`, "--param", `out=${join(place, "out")}`];
  const source = join(root, "examples/workflow/release/source");
  const broken = join(place, "broken");
  cpSync(source, broken, { recursive: true });
  const tested = join(broken, "test/roman.test.mjs");
  writeFileSync(tested, readFileSync(tested, "utf8").replace("MCMXCIV", "MDCCCCLXXXXIIII"));
  slipway(["run", "examples/workflow/release/release.yaml", ...release(source)]);
  const [, failed] =
    /this run is (\S+)/.exec(slipway(["resubmit", "release", ...release(broken)], { codes: [1] })) ?? [];
  for (const name of ["workflow/diamond", "workflow/fan-out", "vela/first"]) slipway(["run", `examples/${name}.yaml`]);
  slipway(["apply", "-f", "examples/workflow/nightly.yaml", "-f", "examples/workflow/templates.yaml"]);
  for (const name of ["workflow/approval", "vela/approval", "rebar/hello"])
    slipway(["run", `examples/${name}.yaml`, "--detach"]);
  runMachines(rebar);
  runBuild();
  return failed;
}

function runMachines(rebar) {
  start({}, "agent", "--id", "node-7", "--runtime", "host");
  slipway(["apply", "-f", "examples/tinkerbell/greet.yaml", "-f", "examples/tinkerbell/troubles.yaml"]);
  const uuid = slipway(["get", "machines.rebar.slipway.dev", "-n", "rebar", "-o", "jsonpath={.items[0].spec.Uuid}"]);
  const key = readFileSync(join(data, "rebar/rs-key"), "utf8").trim();
  start({ RS_ENDPOINT: rebar, RS_KEY: key }, "rebar", "agent", "--machine", uuid.trim());
}

function runBuild() {
  const repository = join(place, "web");
  cpSync(join(root, "examples/wharf/hello"), repository, { recursive: true });
  for (const words of ["init --quiet --initial-branch main", "add --all", "commit --quiet --message first"])
    run("git", ["-C", repository, ...words.split(" ")]);
  const head = "apiVersion: wharf.slipway.dev/v1alpha1\nmetadata:";
  const project = `${head} {name: web}\nkind: Project\nspec: {name: web, gitUrl: ${repository}, branches: [{name: main, default: true}]}`;
  const build = `${head} {name: build-1}\nkind: Build\nspec: {project: web}`;
  slipway(["apply", "-f", "-"], { input: `${project}\n---\n${build}\n` });
  slipway(["wait", "--for=condition=Complete", "build/build-1", "--timeout=60s"]);
}

/** Ends everything that was started here. */
export async function stopServer() {
  // What no server wants any more ends; what it still wants would go on without it.
  for (const kind of ["applications.core.oam.dev", "workflows.tinkerbell.org"]) slipway(["delete", kind, "--all"]);
  for (const child of started.reverse()) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
