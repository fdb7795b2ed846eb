import { type Deferred, deferred } from "#lib/base/index.ts";
import type { ContainerHost, ExecResult, ImageFacts, RegistryLogin, Sandbox } from "#kernel/runtimes/index.ts";

/** A pull that waits for its end. Its signal ends it too, with the signal's reason. */
export interface FakePull {
  readonly image: string;
  readonly logins: readonly RegistryLogin[];
  succeed(facts: ImageFacts): void;
  fail(message: string): void;
}

/** A command in a container that waits for its end. */
export interface FakeExec {
  readonly task: string;
  readonly command: readonly string[];
  end(result: Partial<ExecResult>): void;
}

/** Containers and images in memory: nothing ends by itself, so that a test decides the order of everything. */
export interface FakeContainerHost extends ContainerHost {
  /** Images that need no pulling. */
  readonly images: Map<string, ImageFacts>;
  /** All pulls so far. */
  readonly pulls: readonly FakePull[];
  /** All commands so far. */
  readonly execs: readonly FakeExec[];
}

/** Every sandbox has the address 10.0.0.1 while it is open. */
export function fakeContainerHost(): FakeContainerHost {
  const images = new Map<string, ImageFacts>();
  const pulls: FakePull[] = [];
  const execs: FakeExec[] = [];
  const open = new Map<string, Sandbox>();
  return {
    version: "1.0",
    images,
    pulls,
    execs,
    hostAddress: undefined,
    openSandbox: async (sandbox) => {
      open.set(sandbox.id, sandbox);
      return "10.0.0.1";
    },
    addressOf: (id) => (open.has(id) ? "10.0.0.1" : undefined),
    sandboxes: async () => [...open.keys()],
    rename: async (id, names) => {
      const sandbox = open.get(id);
      if (sandbox !== undefined) open.set(id, { ...sandbox, names });
    },
    closeSandbox: async (id) => void open.delete(id),
    findImage: async (image) => images.get(image),
    pull(image, logins, signal) {
      const end = abortable<ImageFacts>(signal);
      pulls.push({
        image,
        logins,
        succeed: (facts) => end.resolve(facts),
        fail: (message) => end.reject(new Error(message)),
      });
      return end.promise;
    },
    exec(task, command, signal) {
      const end = abortable<ExecResult>(signal);
      execs.push({ task, command, end: (result) => end.resolve({ code: 0, output: "", ...result }) });
      return end.promise;
    },
    interact: async () => {
      throw new Error("containers in memory have no streams");
    },
  };
}

function abortable<T>(signal: AbortSignal): Deferred<T> {
  const end = deferred<T>();
  signal.addEventListener("abort", () => end.reject(signal.reason), { once: true });
  return end;
}
