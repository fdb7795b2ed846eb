import { createHash, type Hash } from "node:crypto";
import type { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";
import { once } from "node:events";
import { posix } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { createGzip } from "node:zlib";
import type { ExecOptions, PodName, PodStreams } from "#kernel/kit/index.ts";
import type { ArchiveOf } from "../archived-files.ts";
import type { StepJob } from "../step-runtime.ts";
import { podContainers, waitingFile } from "./step-pod.ts";

const maxComplaint = 4096;

/** Unpacks the repository in the init container; may be repeated. Files are writable for everyone, because the user of
 * the step's image is unknown. */
export async function putRepository(
  streams: PodStreams,
  pod: PodName,
  job: StepJob,
  options: TransferOptions,
): Promise<void> {
  const { workdir } = job.step;
  // A signal before `init` has written its process id would be lost.
  const script = 'while [ ! -s "$1" ]; do sleep 0.1; done; umask 0; exec tar "$2" - -C "$3"';
  const archive = job.repository.tar(job.overlay, { isWritable: true });
  const command = [
    "/bin/sh",
    "-c",
    script,
    "init",
    waitingFile(pod.name),
    options.compress ? "-xzpf" : "-xpf",
    workdir,
  ];
  await runIn(streams, pod, {
    container: podContainers.init,
    command,
    signal: options.signal,
    stdin: options.compress ? compressed(archive) : archive,
  });
}

interface TransferOptions {
  readonly compress: boolean;
  readonly signal: AbortSignal;
}

/** Tells the init container that the repository is complete. The answer may be lost; the Pod's state shows the effect.
 */
export async function endWaiting(streams: PodStreams, pod: PodName, signal: AbortSignal): Promise<void> {
  const script = 'number=$(cat "$1") && rm "$1" && kill -INT "$number"';
  const command = ["/bin/sh", "-c", script, "init", waitingFile(pod.name)];
  await runIn(streams, pod, { container: podContainers.init, command, signal });
}

/** Archives of a Pod's files through the sidecar, resumed if a connection breaks: the files no longer change. */
export const archivesOf =
  (streams: PodStreams, pod: PodName, patience: Patience, signal: AbortSignal): ArchiveOf =>
  (path) => {
    // The step has chosen the name, which may look like an option.
    const command = ["tar", "-cf", "-", "-C", posix.dirname(path), "--", posix.basename(path)];
    const options = { container: podContainers.artifacts, command, signal };
    return Promise.resolve(resumed(() => outputOf(streams, pod, options), patience, signal));
  };

async function runIn(streams: PodStreams, pod: PodName, options: ExecOptions): Promise<void> {
  const complaint = new Complaint();
  const { exitCode } = await streams.exec(pod, { ...options, stderr: complaint });
  if (exitCode !== 0) throw new StepFailure("Transfer", complaint.failure(options, exitCode));
}

async function* outputOf(streams: PodStreams, pod: PodName, options: ExecOptions): AsyncGenerator<Buffer, void> {
  const [stdout, complaint] = [new PassThrough(), new Complaint()];
  const ended = streams.exec(pod, { ...options, stdout, stderr: complaint });
  ended.catch(() => undefined);
  try {
    yield* stdout as AsyncIterable<Buffer>;
  } catch (thrown) {
    await ended;
    throw thrown;
  } finally {
    stdout.destroy();
  }
  const { exitCode } = await ended;
  if (exitCode !== 0) throw new StepFailure("Artifacts", complaint.failure(options, exitCode));
}

async function* compressed(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gzip = createGzip({ level: 1 });
  const fed = (async () => {
    for await (const chunk of source) if (!gzip.write(chunk)) await once(gzip, "drain");
    gzip.end();
  })();
  fed.catch((thrown: Error) => gzip.destroy(thrown));
  yield* gzip as AsyncIterable<Buffer>;
  await fed;
}

class Complaint extends Writable {
  #text = "";

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text = (this.#text + chunk.toString()).slice(-maxComplaint);
    done();
  }

  failure({ command, container }: ExecOptions, exitCode: number): string {
    const words = this.#text.trim().replaceAll(/\s*\n\s*/g, "; ");
    const program = command.includes("-c") ? "sh" : command[0];
    return `${program} in the container ${container} ended with ${exitCode}${words === "" ? "" : `: ${words}`}`;
  }
}

/** Reads a repeatable source exactly once over breaking connections: bytes already passed on are read again, compared
 * and skipped. Every connection must make progress before patience ends. Throws `Artifacts` if the source changed,
 * `RuntimeLost` if it stays away. */
async function* resumed(
  open: () => AsyncIterable<Buffer>,
  patience: Patience,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const passed: Passed = { bytes: 0, hash: createHash("sha256") };
  for (;;) {
    const rest = await patience.ask(() => openPast(open, passed), signal);
    try {
      for (let next = rest.first; next.done !== true; next = await rest.chunks.next()) {
        passed.bytes += next.value.length;
        passed.hash.update(next.value);
        yield next.value;
      }
      return;
    } catch (thrown) {
      if (!patience.isAway(thrown)) throw thrown;
    } finally {
      await rest.chunks.return?.();
    }
  }
}

interface Passed {
  bytes: number;
  readonly hash: Hash;
}

interface Rest {
  readonly first: IteratorResult<Buffer, unknown>;
  readonly chunks: AsyncIterator<Buffer, unknown>;
}

async function openPast(open: () => AsyncIterable<Buffer>, { bytes, hash }: Passed): Promise<Rest> {
  const chunks = open()[Symbol.asyncIterator]();
  const again = createHash("sha256");
  let left = bytes;
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done === true && left > 0) throw changed();
      const chunk = next.done === true ? Buffer.alloc(0) : next.value;
      again.update(chunk.subarray(0, left));
      const fresh = chunk.subarray(left);
      left = Math.max(0, left - chunk.length);
      if (next.done !== true && fresh.length === 0) continue;
      if (again.digest("hex") !== hash.copy().digest("hex")) throw changed();
      return { first: next.done === true ? next : { done: false, value: fresh }, chunks };
    }
  } catch (thrown) {
    await chunks.return?.();
    throw thrown;
  }
}

const changed = (): StepFailure =>
  new StepFailure("Artifacts", "the connection broke while files were fetched, and they were others the next time");
