import { seededRandom } from "#kernel/kit/testing/index.ts";
import { createHash, randomInt } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A server is killed while it stores an artifact, or moments later: the step ends as it would have, and no half artifact is ever found
// under a digest. SLIPWAY_CRASH_SEED repeats the moments, as closely as a clock can.

const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);
const kills = rounds(2, 20);
/** When chance has met no storing, it is given more. */
const mostKills = 20;
/** Takes some tenths of a second to be stored: long enough to be met. */
const bytes = 12 * 1024 * 1024;

let directory = "";
let server: TestServer | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  await server?.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

/** One step leaves a directory of random bytes and says what they are; the next one compares. */
const documentOf = (name: string): string => {
  const container = (script: string) => ({ container: { image: "busybox", command: ["sh", "-euc", script] } });
  const make = `mkdir $SLIPWAY_ARTIFACTS/out; cd $SLIPWAY_ARTIFACTS/out; head -c ${bytes} /dev/urandom > data; sha256sum data > sum`;
  const steps = {
    make: { ...container(make), outputArtifacts: [{ name: "out" }] },
    look: {
      ...container("cd $SLIPWAY_ARTIFACTS/out; sha256sum -c sum"),
      dependencies: ["make"],
      inputs: { artifacts: [{ name: "out", from: "make/out" }] },
    },
  };
  const spec = { activeDeadlineSeconds: 300, steps };
  return JSON.stringify({ apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec });
};

const filesIn = (path: string): Promise<readonly string[]> => readdir(path).catch(() => []);

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const end = systemClock.monotonic() + 120_000;
  while (!(await holds())) {
    if (systemClock.monotonic() > end) throw new Error(`not in time: ${what}\n${server?.log() ?? ""}`);
    await sleep(systemClock, 2);
  }
}

/** Every file that has the name of a digest has the contents, too. */
async function expectWhole(store: string, which: string): Promise<void> {
  for (const hex of await filesIn(join(store, "default")))
    expect(
      createHash("sha256")
        .update(await readFile(join(store, "default", hex)))
        .digest("hex"),
      which,
    ).toBe(hex);
}

test(`a server that is killed while it stores an artifact leaves none by half, ${kills} times`, async () => {
  const store = join(directory, "artifacts");
  await mkdir(join(directory, "documents"));
  server = await startServer(directory);
  let met = 0;
  for (let round = 0; round < kills || (met === 0 && round < mostKills); round++) {
    const name = `round-${round}`;
    const which = `${name}, seed ${seed}`;
    const file = join(directory, "documents", `${name}.json`);
    await writeFile(file, documentOf(name));
    const before = await filesIn(join(store, "default"));
    const begun = await slipway(["run", file, "--detach", "--kubeconfig", server.kubeconfig]);
    expect(begun.code, begun.err).toBe(0);
    // On a busy machine it may have been stored between two looks.
    const isMet = async () =>
      (await filesIn(join(store, ".parts"))).length > 0 ||
      (await filesIn(join(store, "default"))).length > before.length;
    await until(isMet, `${which}: something is being stored`);
    // The first kill waits for nothing more, so that it comes in the middle.
    if (round > 0) await sleep(systemClock, random() * 500);
    await server.kill();
    if ((await filesIn(join(store, ".parts"))).length > 0) met++;
    await expectWhole(store, which);
    server = await startServer(directory);
    const { kubeconfig } = server;
    const phase = async () =>
      (
        await slipway(["get", "workflow", name, "-o", "jsonpath={.status.phase}", "--kubeconfig", kubeconfig])
      ).out.trim();
    await until(async () => ["Succeeded", "Failed", "Canceled"].includes(await phase()), `${which}: it ends`);
    expect(await phase(), which).toBe("Succeeded");
    const got = ["artifacts", "get", name, "make", "out", "-o", join(directory, `${name}.tar.gz`)];
    expect(await slipway([...got, "--kubeconfig", kubeconfig]), which).toMatchObject({ code: 0 });
    expect(await filesIn(join(store, ".parts")), which).toEqual([]);
  }
  process.stderr.write(`artifacts-kill: seed ${seed}; killed in the middle ${met} of ${kills} times\n`);
  expect(met, "some died in the middle").toBeGreaterThan(0);
});
