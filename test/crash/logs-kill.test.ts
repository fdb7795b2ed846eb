import { spawn } from "node:child_process";
import { open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { rounds } from "#test/support/rounds.ts";
import { freePort } from "#test/support/free-port.ts";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

let directory = "";
/** The same for each life of the server: the commands look for it there. */
let port = "";
let server: TestServer | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
  port = String(await freePort());
});

afterEach(async () => {
  await server?.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

const width = 15;
const lines = 40;
const steps = Array.from({ length: width }, (_, index) => `s${index}`);

/** Steps side by side, whose lines come in two halves and are much alike; the last has no end. */
const documentOf = (names: readonly string[], count: number, gate?: string): string =>
  JSON.stringify({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "talk" },
    spec: { activeDeadlineSeconds: 300, steps: Object.fromEntries(names.map((name) => [name, talker(count, gate)])) },
  });

/** The second half of the lines comes when the gate is there: on a busy machine all would be told before the server ends. */
const talker = (count: number, gate?: string): object => {
  const wait = gate === undefined ? "" : `[ $i -lt ${count / 2} ] || until [ -e ${gate} ]; do sleep 0.05; done; `;
  const line = `${wait}printf "half "; sleep 0.15; echo $((i / 2)); i=$((i + 1))`;
  const script = `i=0; while [ $i -lt ${count} ]; do ${line}; done; printf end`;
  return { container: { image: "busybox", command: ["sh", "-c", script] } };
};

const expected = steps
  .flatMap((step) =>
    [...Array.from({ length: lines }, (_, line) => `half ${Math.floor(line / 2)}`), "end"].map(
      (text) => `${step} | ${text}`,
    ),
  )
  .sort();

/** Writes over the first place of `from`, in a file that another process goes on writing. */
async function changeFirst(path: string, from: string, to: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    const at = (await file.readFile()).indexOf(from);
    expect(at).toBeGreaterThanOrEqual(0);
    await file.write(to, at);
  } finally {
    await file.close();
  }
}

/** A command that goes on while the server is away. */
function start(...args: readonly string[]) {
  const child = spawn(process.execPath, [slipwayBin, ...args, "--kubeconfig", join(directory, "kubeconfig")], {
    cwd: root,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return {
    signal: (name: NodeJS.Signals) => void child.kill(name),
    printed: () => out.split("\n").slice(0, -1),
    err: () => err,
    ended: new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code))),
  };
}

/**
 * Ends the server, does what is to be done while there is none, and starts it again. Commands give up a server that stays away for ten
 * seconds, which a restart may take on a busy machine: from half of that on their time stands still.
 */
async function restart(
  end: (running: TestServer) => Promise<unknown>,
  commands: readonly { readonly signal: (name: NodeJS.Signals) => void }[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  const cancel = systemClock.after(5_000, () => commands.forEach(({ signal }) => signal("SIGSTOP")));
  try {
    if (server !== undefined) await end(server);
    await meanwhile();
    server = await startServer(directory, ["--port", port]);
  } finally {
    cancel();
    for (const { signal } of commands) signal("SIGCONT");
  }
}

const ends: readonly (readonly [string, (running: TestServer) => Promise<unknown>])[] = [
  ["killed", (running) => running.kill()],
  ["stopped", (running) => running.stop()],
];

/** For those who follow, a stop is the gentler of the two. */
test.each(rounds(ends.slice(0, 1), ends))(
  `every line of ${width} steps is printed once when the server is %s meanwhile`,
  async (_how, end) => {
    const gate = join(directory, "gate");
    await writeFile(join(directory, "talk.json"), documentOf(steps, lines, gate));
    server = await startServer(directory, ["--port", port]);
    const run = start("run", join(directory, "talk.json"), "--logs");
    await expect.poll(() => run.printed().length, { timeout: 60_000 }).toBeGreaterThan(width);
    const follow = start("logs", "talk", "-f");
    await expect.poll(() => follow.printed().length, { timeout: 60_000 }).toBeGreaterThan(5 * width);
    let before = { run: 0, follow: 0 };
    await restart(end, [run, follow], async () => {
      before = { run: run.printed().length, follow: follow.printed().length };
      await writeFile(gate, "");
    });
    expect(await follow.ended, follow.err()).toBe(0);
    expect(await run.ended, run.err()).toBe(0);
    expect(before.run, "the server ended in the middle").toBeLessThan(expected.length);
    expect(before.follow, "the server ended in the middle").toBeLessThan(expected.length);
    expect(follow.printed().sort()).toEqual(expected);
    expect(run.printed().sort()).toEqual(expected);
    expect(follow.err()).toBe("");
    expect(run.err()).not.toContain("Warning");
    const [step = ""] = steps;
    const { out } = await slipway(["logs", "talk", step, "--kubeconfig", server.kubeconfig]);
    expect(out.split("\n")).toHaveLength(lines + 2);
  },
);

test("a log that cannot go on is told of, and the follower fails", async () => {
  await writeFile(join(directory, "talk.json"), documentOf(["s0"], 1000));
  server = await startServer(directory, ["--port", port]);
  const begun = await slipway(["run", join(directory, "talk.json"), "--detach", "--kubeconfig", server.kubeconfig]);
  expect(begun.code, begun.err).toBe(0);
  const present = ["logs", "talk", "s0", "--kubeconfig", server.kubeconfig];
  await expect.poll(async () => (await slipway(present)).out, { timeout: 60_000 }).toContain("half 0\n");
  const follow = start("logs", "talk", "s0", "-f", "--tail", "1");
  await expect.poll(() => follow.printed().length, { timeout: 60_000 }).toBeGreaterThan(3);
  await restart(
    (running) => running.kill(),
    [follow],
    async () => {
      const files = await readdir(directory, { recursive: true });
      const logs = files.filter((file) => file.endsWith("/0.log"));
      expect(logs).toHaveLength(1);
      for (const file of logs) await changeFirst(join(directory, file), "half 0", "HALF 0");
    },
  );
  const told =
    "slipway: s0: the log of attempt 1 broke off: the server no longer has the beginning of the log, so it cannot be continued\n";
  await expect.poll(follow.err, { timeout: 60_000 }).toBe(told);
  // Other steps of the run could still write, so that the command ends with the run.
  const cancelled = await slipway(["cancel", "talk", "--kubeconfig", server.kubeconfig]);
  expect(cancelled.code, cancelled.err).toBe(0);
  expect(await follow.ended).toBe(1);
  expect(follow.err()).toBe(told);
});
