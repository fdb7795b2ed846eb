import { existsSync, readFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { freePort } from "#test/support/free-port.ts";
import { kubectlPaths } from "#test/support/kubectl.ts";
import { type Block, blocksOf, commandsOf } from "#test/support/markdown.ts";
import { type Shell, startShell } from "#test/support/shell.ts";
import { endRunner, removeDirectory, root, slipway, temporaryDirectory } from "#test/support/slipway.ts";

const guides = await readdir(join(root, "docs/guides"));
const pages = ["README.md", ...guides.map((guide) => `docs/guides/${guide}`)];
const blocks = pages.flatMap(blocksOf);
const shellBlocks = blocks.filter(({ language }) => language === "sh");

let home: string;
let shell: Shell;
/** Where the servers of this test listen for agents: the usual address may be another server's. */
let agentAddress: string;

/** Somebody's, which knows nothing of us; for blocks that speak of one. */
let cluster: TestServer | undefined;

const usualAddress = "127.0.0.1:42113";

beforeEach(async () => {
  home = await temporaryDirectory();
  agentAddress = `127.0.0.1:${await freePort()}`;
  const kubectl = kubectlPaths.find((path) => existsSync(path));
  if (kubectl === undefined) throw new Error("kubectl is missing; run: node scripts/test-tools.mjs");
  const env = {
    HOME: home,
    PATH: `${process.env["PATH"]}:${dirname(kubectl)}`,
    SLIPWAY_TINK_LISTEN: agentAddress,
    // Servers are noted where no other test's are.
    XDG_RUNTIME_DIR: home,
  };
  shell = startShell({ env });
  await shell.type("agents=");
});

afterEach(async () => {
  await shell.type("for agent in $agents; do kill -- -$agent && wait $agent; done; true");
  await shell.close();
  await cluster?.close();
  cluster = undefined;
  await stopServer(join(home, ".slipway"));
  for (const directory of [".slipway/agent", "agent-1", "agent-2"]) await endRunner(join(home, directory));
  await removeDirectory(home);
});

/** Ends the server that owns a data directory, if there is one, and its runner. */
async function stopServer(directory: string): Promise<void> {
  const lock = await readFile(join(directory, "lock"), "utf8").catch(() => undefined);
  if (lock !== undefined) {
    const { pid } = JSON.parse(lock) as { pid: number };
    process.kill(pid, "SIGTERM");
    await expect.poll(() => isAlive(pid), { interval: 10 }).toBe(false);
  }
  await endRunner(directory);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const twoCommands = (block: Block) => block.text.includes("npm ci");
const titleOf = ({ page, line }: Block) => `${page}:${line}`;

test("the pages have blocks to try", () => {
  expect(shellBlocks.filter(twoCommands).map(titleOf)).toHaveLength(1);
  expect(shellBlocks.length).toBeGreaterThan(2);
});

// `npm ci` would replace the node_modules this test runs from, and `npm test` would run this test. What they need to work is
// looked at instead; the demo runs for real.
test("the two commands: their scripts exist, the lock file fits, and the demo makes a release", async () => {
  const lines = shellBlocks.filter(twoCommands).flatMap(commandsOf);
  expect(lines).toEqual(["npm ci && npm run demo", "npm ci && npm test"]);
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8")) as Record<string, object>;
  const { scripts, dependencies, devDependencies } = read("package.json");
  expect(scripts).toMatchObject({ demo: "node scripts/demo.mjs", test: "node scripts/test.mjs" });
  const { packages } = read("package-lock.json");
  expect(packages).toMatchObject({ "": { dependencies, devDependencies } });
  const out = await shell.type("npm run demo");
  expect(out).toMatch(/[0-9a-f]{64} {2}numerals-1\.2\.0\.tar\.gz/);
});

/** The file that the guide calls `cluster.kubeconfig`. */
async function startCluster(): Promise<string> {
  cluster = await startTestServer();
  const file = join(home, "cluster.kubeconfig");
  await writeKubeconfig(file, { url: cluster.url, caPem: cluster.ca, token: cluster.token });
  return file;
}

/** What programs say that go on: agents and controllers. */
const atWork = /"connected to the server".*\n|controllers started.*\n/;

/** Types the commands of a block as a person would: reads that the server serves, looks at a watch until the run is over. */
async function tryBlock(block: Block): Promise<string> {
  let out = "";
  const kubeconfig = block.text.includes("cluster.kubeconfig") ? await startCluster() : "";
  for (const typed of commandsOf(block)) {
    const line = typed.replaceAll(usualAddress, agentAddress).replaceAll("cluster.kubeconfig", kubeconfig);
    if (/ (?:agent|controllers|tink (?:controller|server)) .*&$/.test(line)) {
      // In a process group of its own, so that not npm alone is ended with it.
      await shell.type("set -m");
      out += await shell.typeAndWatch(line, atWork);
      await shell.type('agents="$agents $!"; set +m');
    } else if (line.endsWith("&")) out += await shell.typeAndWatch(line, /is ready at https:.*\n(?:.*\n){3}/);
    else if (/ (?:-w|--watch)\b/.test(line)) {
      out += await shell.typeAndWatch(line, /\bSucceeded\b.*\n/);
      await shell.interrupt();
    } else out += await shell.type(line);
  }
  return out;
}

/** What the blocks of the guide to Tinkerbell show. */
const told: readonly { readonly of: string; readonly says: RegExp }[] = [
  { of: "tinkerbell/machine.yaml --logs", says: /^check \| 192\.0\.2\.7 is ready$/m },
  { of: "logs workflows.tinkerbell.org/greet-7", says: /^look \| this is node-7, its disk \/dev\/nvme0n1$/m },
  { of: "fleet.yaml --all-hardware", says: /^rendered disk-image for rack1-02: 4 actions, agent 52:54:00:12:34:02$/m },
  { of: "describe workflows.tinkerbell.org/greet-7", says: /^greet +Succeeded +1 /m },
  {
    of: "describe workflows.tinkerbell.org/broken-disk",
    says: /^write-image +Failed .*DiskMissing +there is no \/dev\/sda$/m,
  },
  { of: "cancel workflows.tinkerbell.org/endless", says: /^workflow\/endless (?:canceled|cancel requested)$/m },
  { of: "describe workflows.tinkerbell.org/rack-1", says: /^export-volume +Succeeded .*\n^mount-volume +Succeeded /m },
  { of: "--tink-auth token", says: /^workflow\.tinkerbell\.org\/greet-7 condition met$/m },
];

test.each(shellBlocks.filter((block) => !twoCommands(block)).map((block) => [titleOf(block), block] as const))(
  "%s does what it says",
  async (_title, block) => {
    const out = await tryBlock(block);
    expect(out).not.toMatch(/\berror:/i);
    if (block.text.includes("describe workflow diamond")) {
      expect(out).toContain("workflow.slipway.dev/diamond created");
      expect(out).toContain("workflow.slipway.dev/diamond condition met");
      expect(out).toMatch(/Phase: +Succeeded \(5\/5\)/);
    }
    for (const { of, says } of told.filter((one) => block.text.includes(one.of))) expect(out, of).toMatch(says);
  },
);

/** Objects; settings are read by what they are for. */
const objects = blocks.filter(({ language, text }) => language === "yaml" && /^apiVersion:/m.test(text));

test.each(objects.map((block) => [titleOf(block), block] as const))(
  "the objects in %s pass lint without an error",
  async (_title, { text }) => {
    const file = join(home, "workflow.yaml");
    await writeFile(file, text);
    const { code, out, err } = await slipway(["lint", file]);
    expect(code, out).toBe(0);
    expect(err).toMatch(/^[1-9]\d* documents?, 0 errors/m);
  },
);
