import { seededRandom } from "#kernel/kit/testing/index.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Observed, WorkerBackend, WorkerIdentity } from "../../src/dialects/wharf/provisioner/backend.ts";
import { readParameters, type WorkerRequest } from "../../src/dialects/wharf/provisioner/parameters.ts";
import { workerTokenOf } from "../../src/dialects/wharf/provisioner/worker-token.ts";
import type { WorkerLine } from "../../src/dialects/wharf/worker-api/worker-messages.ts";
import { readLines } from "../../src/dialects/wharf/worker-api/line-frames.ts";
import { WorkerClient } from "../../src/dialects/wharf/worker-api/worker-client.ts";
import type { Connect } from "../../src/dialects/wharf/worker-api/worker-rest-client.ts";

// What holds for whatever runs workers, seen by who starts them and by who reads their results. Real programs and real clones.

/** A backend and what surrounds it. */
export interface BackendPlace {
  /** Another life of it, over the same workers. */
  open(): Promise<WorkerBackend>;
  /** The address of a repository with these files that takes `cloneToken`; of one that does not exist without them. */
  repository(files?: Readonly<Record<string, string>>): string;
  connect(address: string): Connect;
  /** Ends the program of a worker without a word. */
  kill(worker: WorkerIdentity): Promise<void>;
  /** Everything that others can see of a worker while it runs. */
  visible(worker: WorkerIdentity): Promise<string>;
  /** How many workers there are, in whatever state. */
  count(): Promise<number>;
  /** A worker of this number, where it has to be somebody's; made up when absent. */
  identify?(number: number): Promise<WorkerIdentity>;
  /** Results outlive the program; they do unless told otherwise. */
  readonly keepsResults?: boolean;
}

/** What the provisioner's own is called where workers ask for theirs. */
export const tokenOf = (uid: string): string => workerTokenOf("of the provisioner", uid);
/** Takes repositories of a place out. */
export const cloneToken = "t0ken-of-the-project";
const secretInput = "inpu7-value";

const definition = (...cmds: readonly string[]) => ({
  ".wharf-ci.yml": `inputs: [{name: password, type: password}]\ns:\n  t: ${JSON.stringify({ container: { image: "busybox:1", cmds } })}\n`,
});

const patience = { timeout: 90_000 };

export function backendContract(place: () => BackendPlace): void {
  let backend: WorkerBackend;
  let count = 0;
  const workers: WorkerIdentity[] = [];
  beforeEach(async () => {
    backend = await place().open();
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) {
      await backend.end(worker, "kill");
      await backend.remove(worker);
    }
    await backend.close();
  });
  const newWorker = async (): Promise<WorkerIdentity> => {
    const number = ++count;
    const uid = `00000000-0000-4000-8000-${`${number}`.padStart(12, "0")}`;
    const madeUp = { namespace: "default", name: `wharf-cmd-worker-local-${number}`, uid };
    const worker = (await place().identify?.(number)) ?? madeUp;
    workers.push(worker);
    return worker;
  };
  const request = (url: string): WorkerRequest => {
    const given = { GIT_FULLURL: url, GIT_TOKEN: cloneToken, BUILD_REF: "7", VARS: `{"password": "${secretInput}"}` };
    const read = readParameters(given, { instance: "local", allowLocalRepos: false });
    if (!read.ok) throw new Error(JSON.stringify(read.error));
    return read.value;
  };
  /** What is expected, when it has come: a worker that is asked may be silent for a while. */
  const seen = async (worker: WorkerIdentity, expected: Partial<Observed>, by = backend): Promise<Observed> => {
    let last: Observed = { phase: "absent", isAlive: false, status: "Unknown" };
    const look = async () => (last = await by.observe(worker));
    await expect.poll(look, patience).toMatchObject(expected);
    return last;
  };
  const clientOf = (address: string | undefined, token: string) =>
    new WorkerClient({
      connect: place().connect(address ?? ""),
      token,
      clock: systemClock,
      random: seededRandom(1),
      log: silentLog,
    });
  /** Lines of everything that has been printed, up to its end. */
  const linesOf = async (worker: WorkerIdentity, address: string | undefined) => {
    const client = clientOf(address, tokenOf(worker.uid));
    const lines: WorkerLine[] = [];
    for await (const some of client.logs(new Map(), AbortSignal.timeout(60_000))) lines.push(...readLines(some));
    client.close();
    return lines.map(({ message }) => message);
  };

  /** Resolves when the step of a build that goes on has printed something. */
  const begun = async (worker: WorkerIdentity): Promise<void> => {
    const { address } = await seen(worker, { phase: "running" });
    const client = clientOf(address, tokenOf(worker.uid));
    for await (const some of client.logs(new Map(), AbortSignal.timeout(60_000)))
      if (readLines(some)[0]?.message === "begun") break;
    client.close();
  };

  test("a worker is started once, tells its results to who brings its token, and nobody sees what is secret", async () => {
    const worker = await newWorker();
    const wanted = request(place().repository(definition("echo hello; sleep 1", "echo bye")));
    expect(await backend.observe(worker)).toMatchObject({ phase: "absent", isAlive: false });
    await backend.start(worker, wanted);
    // Somebody else's life of it, which has not seen the start.
    const other = await place().open();
    await other.start(worker, wanted);
    expect(await place().count()).toBe(1);
    // Its build may be over by then: the worker is there until it is told to end.
    const serving = await seen(worker, { isAlive: true, address: expect.stringMatching(/./) as string });
    const visible = await place().visible(worker);
    for (const secret of [cloneToken, secretInput, tokenOf(worker.uid)]) expect(visible).not.toContain(secret);
    const { address } = await seen(worker, { phase: "finished", isAlive: true, status: "Success" });
    expect(address).toBe(serving.address);
    expect(await linesOf(worker, address)).toEqual(["hello", "bye"]);
    const stranger = clientOf(address, "another");
    await expect(stranger.build(AbortSignal.timeout(60_000))).rejects.toThrow("token");
    stranger.close();
    // Whoever begins anew sees the same; what is kept stays, and what is not goes.
    await seen(worker, { phase: "finished", status: "Success", address }, other);
    await other.sweep(() => [worker]);
    await seen(worker, { phase: "finished", isAlive: true });
    await backend.end(worker, "terminate");
    await expect.poll(async () => (await backend.observe(worker)).isAlive, patience).toBe(false);
    await other.sweep(() => []);
    expect(await place().count()).toBe(0);
    await other.close();
  });

  test("a build that is cancelled ends, and its results can be read", async () => {
    const worker = await newWorker();
    await backend.start(worker, request(place().repository(definition("echo begun", "sleep 600"))));
    // Whether its step has printed anything by then, has begun, or has not.
    await seen(worker, { phase: "running" });
    await backend.end(worker, "cancel");
    await backend.end(worker, "cancel");
    const { address } = await seen(worker, { phase: "finished", isAlive: true, status: "Cancelled" });
    expect(["", "begun"]).toContain((await linesOf(worker, address)).join());
  });

  // Of a Pod nothing is left where it could be read from: its output and events are told instead, which is tested with the aggregator.
  const whereResultsStay = test.skipIf(place().keepsResults === false);

  whereResultsStay("what cannot be cloned has failed, with what Git says", async () => {
    const worker = await newWorker();
    await backend.start(worker, request(place().repository()));
    const { address } = await seen(worker, { phase: "finished", status: "Failed" });
    expect((await linesOf(worker, address)).join("\n")).toMatch(/not found[^]*cannot be cloned/);
  });

  whereResultsStay("what cannot be built has failed, with what its program says", async () => {
    const worker = await newWorker();
    await backend.start(worker, request(place().repository({ "README.md": "no definition\n" })));
    const { address } = await seen(worker, { phase: "finished", status: "Failed" });
    expect((await linesOf(worker, address)).join("\n")).toMatch(/\.wharf-ci\.yml[^]*did not begin/);
  });

  whereResultsStay("results of a worker that is killed are closed, and served as before", async () => {
    const worker = await newWorker();
    await backend.start(worker, request(place().repository(definition("echo begun", "sleep 600"))));
    await begun(worker);
    await place().kill(worker);
    const ended = await seen(worker, { phase: "finished", isAlive: false, status: "Failed" });
    expect(await linesOf(worker, ended.address)).toEqual(["begun"]);
    await backend.remove(worker);
    expect(await backend.observe(worker)).toMatchObject({ phase: "absent" });
    expect(await place().count()).toBe(0);
  });
}
