// The way of files: into the Pod while its init container waits, and out of it by the container that is beside the step.

import { once } from "node:events";
import { posix } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { createGzip } from "node:zlib";
import type { ExecOptions, PodName, PodStreams } from "#kernel/kit/index.ts";
import type { ArchiveOf } from "../archived-files.ts";
import type { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";
import type { StepJob } from "../step-runtime.ts";
import { resumed } from "./resumed.ts";
import { podContainers, waitingFile } from "./step-pod.ts";

/** Of what a program complains about; the last words say what it was. */
const maxComplaint = 4096;

/**
 * Unpacks the repository in the init container, which is told nothing yet. May be repeated. Everything in it may be changed by everybody in the Pod:
 * nobody here knows as whom the step's image runs.
 */
export async function putRepository(
  streams: PodStreams,
  pod: PodName,
  job: StepJob,
  options: TransferOptions,
): Promise<void> {
  const { workdir } = job.step;
  // The waiting of `init` has begun when it has left its number: a signal before that would be lost.
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

export interface TransferOptions {
  /** For clusters that are far away. */
  readonly compress: boolean;
  readonly signal: AbortSignal;
}

/**
 * Tells the init container that the repository is complete, which ends it. How this ends says little: the program may go with the container that it
 * ends. The state of the Pod says it.
 */
export async function endWaiting(streams: PodStreams, pod: PodName, signal: AbortSignal): Promise<void> {
  const script = 'number=$(cat "$1") && rm "$1" && kill -INT "$number"';
  const command = ["/bin/sh", "-c", script, "init", waitingFile(pod.name)];
  await runIn(streams, pod, { container: podContainers.init, command, signal });
}

/**
 * Archives of what a Pod has below a path, by the container that is there for that. Read to its end it was whole; else reading it throws. One that is
 * cut off is fetched again and read on from where it was: nothing changes these files any more.
 */
export const archivesOf =
  (streams: PodStreams, pod: PodName, patience: Patience, signal: AbortSignal): ArchiveOf =>
  (path) => {
    // The step has chosen the name, which may look like an option.
    const command = ["tar", "-cf", "-", "-C", posix.dirname(path), "--", posix.basename(path)];
    const options = { container: podContainers.artifacts, command, signal };
    return Promise.resolve(resumed(() => outputOf(streams, pod, options), patience, signal));
  };

/** Runs a program to its end. Throws with what it has complained about when it fails. */
async function runIn(streams: PodStreams, pod: PodName, options: ExecOptions): Promise<void> {
  const complaint = new Complaint();
  const { exitCode } = await streams.exec(pod, { ...options, stderr: complaint });
  if (exitCode !== 0) throw new StepFailure("Transfer", complaint.failure(options, exitCode));
}

/** What a program prints, as it is read. */
async function* outputOf(streams: PodStreams, pod: PodName, options: ExecOptions): AsyncGenerator<Buffer, void> {
  const [stdout, complaint] = [new PassThrough(), new Complaint()];
  const ended = streams.exec(pod, { ...options, stdout, stderr: complaint });
  // Told below; a reader that stops early does not want to know.
  ended.catch(() => undefined);
  try {
    yield* stdout as AsyncIterable<Buffer>;
  } catch (thrown) {
    // Why the output was cut off is what the exec says.
    await ended;
    throw thrown;
  } finally {
    stdout.destroy();
  }
  const { exitCode } = await ended;
  if (exitCode !== 0) throw new StepFailure("Artifacts", complaint.failure(options, exitCode));
}

/** Compressed where it is made, so that what fails there fails here. */
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

/** The last of what a program has written to its standard error. */
class Complaint extends Writable {
  #text = "";

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text = (this.#text + chunk.toString()).slice(-maxComplaint);
    done();
  }

  /** What is told of a program that has failed. */
  failure({ command, container }: ExecOptions, exitCode: number): string {
    const words = this.#text.trim().replaceAll(/\s*\n\s*/g, "; ");
    const program = command.includes("-c") ? "sh" : command[0];
    return `${program} in the container ${container} ended with ${exitCode}${words === "" ? "" : `: ${words}`}`;
  }
}
