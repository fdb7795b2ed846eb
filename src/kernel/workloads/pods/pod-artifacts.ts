import { chmod, lstat, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type ApiClient, refTo } from "#kernel/kit/index.ts";
import {
  ArtifactError,
  asArtifactError,
  type ArtifactStore,
  type ArtifactWish,
  leavesAnnotation,
  leftAnnotation,
  type LeftRecord,
  packArtifact,
  readLeaves,
  readLeft,
  readTakes,
  type StoredArtifact,
  type TakenArtifact,
  takesAnnotation,
  unpackArtifact,
} from "#kernel/artifacts/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { podPaths } from "./pod-paths.ts";

// Artifacts are a matter between the store and one directory of the Pod, before its first container starts and after its last has
// ended. Both may be repeated after a crash: what is there is not made again, and equal bytes have one name.

/** Why a Pod cannot have what it takes. It is not waited for: what is gone does not come back. */
export interface Lacking {
  readonly reason: string;
  readonly message: string;
}

/** Whether the Pod takes or leaves artifacts, and so has a directory of them. */
export const hasArtifacts = ({ metadata: { annotations } }: PodObject): boolean =>
  annotations?.[takesAnnotation] !== undefined || annotations?.[leavesAnnotation] !== undefined;

/** Carries artifacts between the store and Pods. */
export class PodArtifacts {
  readonly #store: ArtifactStore;
  readonly #client: ApiClient;
  readonly #directory: string;

  /** `directory` is the Pod runner's. */
  constructor(store: ArtifactStore, client: ApiClient, directory: string) {
    this.#store = store;
    this.#client = client;
    this.#directory = directory;
  }

  /**
   * Makes the directory with everything the Pod takes, once, before any of its containers has run: after that others write to it, and
   * whoever wrote there again could be led elsewhere by a link. Costs nothing for Pods without artifacts.
   */
  async prepare(pod: PodObject, signal: AbortSignal): Promise<Result<void, Lacking>> {
    if (!hasArtifacts(pod)) return ok(undefined);
    const { artifacts: directory, artifactsMade } = podPaths(this.#directory, pod);
    if (await isThere(artifactsMade)) return ok(undefined);
    try {
      await rm(directory, { recursive: true, force: true });
      await makeDirectories(directory);
      // Whoever the containers run as may write to it.
      await chmod(directory, 0o777);
      for (const artifact of readTakes(pod.metadata.annotations))
        await named(artifact.name, () => this.#take(pod, artifact, directory, signal));
      await writeFile(artifactsMade, "");
      return ok(undefined);
    } catch (thrown) {
      signal.throwIfAborted();
      const { reason, message } = asArtifactError(thrown);
      return err({ reason, message });
    }
  }

  async #take(pod: PodObject, artifact: TakenArtifact, directory: string, signal: AbortSignal): Promise<void> {
    const bytes = await this.#store.read(pod.metadata.namespace ?? "", artifact.digest);
    await unpackArtifact(untilAborted(bytes, signal), artifact, join(directory, artifact.path));
  }

  /**
   * Stores what a Pod that has succeeded leaves, and writes on the Pod what became of it, once. To be called before its phase is
   * written: who sees the phase finds the record. A failure of the store is part of the record; one of the API rejects. Nothing is noted
   * of a Pod that somebody deletes, who would have to wait for it: `isWanted` is asked all the time.
   */
  async collect(
    pod: Stored<PodObject>,
    signal: AbortSignal,
    isWanted: () => boolean = () => true,
  ): Promise<Stored<PodObject>> {
    const { annotations, uid, deletionTimestamp } = pod.metadata;
    if (annotations?.[leavesAnnotation] === undefined || deletionTimestamp !== undefined) return pod;
    if (readLeft(annotations, uid) !== undefined) return pod;
    const end = new AbortController();
    const record = await this.#leave(pod, AbortSignal.any([signal, end.signal]), () => {
      if (!isWanted()) end.abort(new Error("the pod is being deleted"));
    });
    signal.throwIfAborted();
    if (end.signal.aborted) return pod;
    const body = { metadata: { uid, annotations: { [leftAnnotation]: JSON.stringify(record) } } };
    return this.#client.patch<PodObject>(refTo(Pod, pod), { type: "merge", body });
  }

  /** `beat` is called for every chunk that goes through. */
  async #leave(pod: Stored<PodObject>, signal: AbortSignal, beat: () => void): Promise<LeftRecord> {
    const { annotations, uid } = pod.metadata;
    try {
      const artifacts: Record<string, StoredArtifact> = {};
      for (const wish of readLeaves(annotations)) {
        const stored = await named(wish.name, () => this.#leaveOne(pod, wish, signal, beat));
        if (stored !== undefined) artifacts[wish.name] = stored;
      }
      return { uid, artifacts };
    } catch (thrown) {
      const { reason, message } = asArtifactError(thrown);
      return { uid, problem: { reason, message } };
    }
  }

  async #leaveOne(
    pod: Stored<PodObject>,
    wish: ArtifactWish,
    signal: AbortSignal,
    beat: () => void,
  ): Promise<StoredArtifact | undefined> {
    const packed = await packArtifact(podPaths(this.#directory, pod).artifacts, wish);
    if (packed === undefined) {
      if (wish.optional === true) return undefined;
      throw new ArtifactError("ArtifactMissing", `nothing is at ${wish.path} of $SLIPWAY_ARTIFACTS`);
    }
    const { bytes, ...kept } = packed;
    return { ...(await this.#store.put(pod.metadata.namespace ?? "", beating(bytes, beat), signal)), ...kept };
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function* beating(bytes: AsyncIterable<Buffer>, beat: () => void): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    beat();
    yield chunk;
  }
}

/** A server that ends waits for nobody's gigabytes. */
async function* untilAborted(bytes: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** Says which artifact it was. */
async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { reason, message } = asArtifactError(thrown);
    throw new ArtifactError(reason, `artifact "${name}": ${message}`, { cause: thrown });
  }
}
