import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { kubectlPaths } from "#test/support/kubectl.ts";
import { rounds } from "#test/support/rounds.ts";
import {
  agentAddress,
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Everything a first day needs, on each supported version of Node.js, from one clone that the oldest builds.

const { nodeFolder, nodeVersions } = (await import(join(root, "scripts/node-versions.mjs"))) as {
  readonly nodeFolder: (version: string) => string;
  readonly nodeVersions: readonly string[];
};

let clones: string;
let clone: string;
beforeAll(async () => {
  clones = await temporaryDirectory();
  clone = join(clones, "clone");
  await cloneInto(clone);
});
afterAll(() => removeDirectory(clones));

let home: string;
let server: TestServer | undefined;
let agent: ChildProcess | undefined;
beforeEach(async () => {
  home = await temporaryDirectory();
});
afterEach(async () => {
  if (agent !== undefined && agent.exitCode === null) {
    const ended = once(agent, "exit");
    agent.kill("SIGKILL");
    await ended;
  }
  await server?.stop();
  for (const directory of ["agent", ".slipway"]) await endRunner(join(home, directory));
  [server, agent] = [undefined, undefined];
  await removeDirectory(home);
});

/** The files of the repository, with the packages that are installed: their native code serves every version. */
async function cloneInto(clone: string): Promise<void> {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root, encoding: "utf8" });
  const needed = /^(?:bin|examples|go\/built|scripts|src)\/|^(?:package\.json|[A-Z]+(?:\.md)?)$/;
  for (const file of listed.split("\0").filter((path) => needed.test(path) && !path.endsWith(".test.ts"))) {
    if (!existsSync(join(root, file))) continue; // Deleted, and not committed yet.
    await mkdir(dirname(join(clone, file)), { recursive: true });
    await cp(join(root, file), join(clone, file));
  }
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
}

/** Of npm, and of Node.js: "(node:1) [DEP0040] DeprecationWarning: …". */
const warning = /npm warn|\(node:\d+\)|Deprecat/;

/** On every version, before server and agent. */
const few = [
  "npm run -s demo",
  "slipway version -o json",
  "slipway run --ephemeral examples/workflow/hello.yaml",
  "slipway run --runtime host --build-id 1 examples/wharf/hello",
];

/** On the newest version; the tests of commands run on an old one. */
const commands = [
  ...few,
  "slipway --help",
  "slipway run --help",
  "slipway completion bash",
  "slipway lint examples/workflow/diamond.yaml",
  "slipway graph examples/workflow/diamond.yaml",
  "slipway simulate examples/workflow/diamond.yaml",
  "slipway run --ephemeral examples/tinkerbell/template.yaml --set device_1=local",
];

test.each(nodeVersions)(
  "Node.js %s runs demo, commands, server, build and agent without a warning",
  async (version) => {
    const node = join(nodeFolder(version), "node");
    if (!existsSync(node)) throw new Error(`${node} is missing; run: node scripts/node-versions.mjs`);
    const bin = join(clone, "bin/slipway.cjs");
    await mkdir(join(home, "bin"));
    await symlink(bin, join(home, "bin/slipway"));
    const kubectl = `${kubectlPaths[0]} --kubeconfig ${join(home, ".slipway/kubeconfig")}`;
    const env = {
      HOME: home,
      PATH: `${join(home, "bin")}:${dirname(node)}:${process.env["PATH"]}`,
      NODE_COMPILE_CACHE: join(home, "compiled"),
      KUBECONFIG: join(home, "data/kubeconfig"),
      SLIPWAY_KUBECONFIG: join(home, "data/kubeconfig"),
    };
    const sh = async (command: string): Promise<string> => {
      const { code, out, err } = await exec("sh", ["-ec", command], { cwd: clone, env });
      expect(code, `${command}\n${out}${err}`).toBe(0);
      expect(err).not.toMatch(warning);
      return out;
    };

    const printed: string[] = [];
    const isNewest = version === nodeVersions.at(-1);
    for (const command of isNewest ? commands : rounds(few, commands)) printed.push(await sh(command));
    expect(printed[0]).toMatch(/[0-9a-f]{64} {2}numerals-1\.2\.0\.tar\.gz/);
    expect(JSON.parse(printed[1] ?? "")).toMatchObject({ node: version });

    server = await startServer(join(home, ".slipway"), ["--tink-listen", "127.0.0.1:0"], env, [node, bin]);
    await sh(`${kubectl} apply -f examples/workflow/hello.yaml`);
    await sh(`${kubectl} wait --for=jsonpath={.status.phase}=Succeeded --timeout=90s workflows.slipway.dev/hello`);
    const state = ["--id", "node-7", "--runtime", "host", "--state-dir", join(home, "agent")];
    agent = spawn(node, [bin, "agent", "--server", agentAddress(server), ...state], {
      env: cleanEnvironment(env),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    agent.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await sh(`${kubectl} apply -f examples/tinkerbell/greet.yaml`);
    await sh(`${kubectl} wait --for=jsonpath={.status.state}=SUCCESS --timeout=90s workflows.tinkerbell.org/greet-7`);
    await server.stop();
    expect(`${said}${server.log()}`).not.toMatch(warning);
  },
  400_000,
);

const execute = promisify(execFile);

/** The program that `npm` is, to be run on another version of Node.js than its own. */
const npmProgram = (): string =>
  realpathSync(execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim());

test.each(nodeVersions)(
  "npm ci on Node.js %s warns of nothing and installs native code that runs",
  async (version) => {
    const node = join(nodeFolder(version), "node");
    for (const file of ["package.json", "package-lock.json", ".npmrc"]) await cp(join(root, file), join(home, file));
    // As whoever runs the tests has set npm up: registry, certificates, cache.
    const options = { cwd: home, env: { ...process.env, PATH: `${dirname(node)}:${process.env["PATH"]}` } };
    const installed = await execute(node, [npmProgram(), "ci", "--prefer-offline"], options);
    expect(`${installed.stdout}${installed.stderr}`).not.toMatch(warning);
    await execute(node, ["-e", 'require("lmdb").open({ path: "store" }).putSync("key", 1)'], options);
    expect(existsSync(join(home, "store/data.mdb"))).toBe(true);
  },
  400_000,
);

test("the package is built anew, without old files, and works in any directory with the examples of its help", async () => {
  await mkdir(join(clone, "dist"), { recursive: true });
  await writeFile(join(clone, "dist/old.cjs"), "");
  const env = { HOME: home, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
  const packed = await exec("npm", ["pack", "--silent", "--pack-destination", home], { cwd: clone, env });
  expect(packed.code, packed.err).toBe(0);
  // As npm installs it, but for its dependencies, which are those of this repository.
  const folder = join(home, "lib/slipway");
  await mkdir(folder, { recursive: true });
  const archive = join(home, packed.out.trim().split("\n").at(-1) ?? "");
  execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await symlink(join(folder, "bin/slipway.cjs"), join(home, "slipway"));
  const present = await readdir(join(folder, "dist"));
  expect(present).toEqual(expect.arrayContaining(["help.cjs", "kit.mjs", "slipway.cjs", "template.wasm"]));
  expect(present).not.toContain("old.cjs");

  const run = async (...args: string[]) => {
    const { code, out, err } = await exec(join(home, "slipway"), args, { cwd: "/", env });
    expect(code, err).toBe(0);
    return out;
  };
  expect(await run("version")).toMatch(/^slipway \d/);
  const helps = await Promise.all(["run", "lint", "simulate"].map((verb) => run(verb, "--help")));
  const examples = [...helps.join("").matchAll(/\bexamples\/\S+/g)].map(([path]) => path);
  expect(examples).not.toEqual([]);
  expect(examples.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  await run("run", "--ephemeral", join(folder, "examples/workflow/hello.yaml"));
  server = await startServer(join(home, ".slipway"), [], env, [process.execPath, join(folder, "bin/slipway.cjs")]);
  await run("run", "--kubeconfig", server.kubeconfig, join(folder, "examples/workflow/hello.yaml"));
}, 400_000);

test("npm has nothing to warn of: the scripts of all packages are decided on, and none is deprecated", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8")) as Record<string, object>;
  const { packages } = read("package-lock.json") as {
    packages: Readonly<Record<string, { readonly hasInstallScript?: true; readonly deprecated?: string }>>;
  };
  const named = Object.entries(packages).map(([path, entry]) => ({
    ...entry,
    name: path.replace(/^.*node_modules\//, ""),
  }));
  const scripted = named.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
  expect(scripted).not.toEqual([]);
  expect(Object.keys(read("package.json")["allowScripts"] ?? {}).sort()).toEqual([...new Set(scripted)].sort());
  expect(named.filter(({ deprecated }) => deprecated !== undefined)).toEqual([]);
});
