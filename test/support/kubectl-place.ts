import { afterAll, beforeAll, expect } from "vitest";
import { type Kubectl, openKubectl } from "./kubectl.ts";
import type { ControlPlane } from "./control-plane.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory } from "./slipway.ts";

/** A server of its own for some tests, with a kubectl that is at home there. */
export interface KubectlPlace {
  /** The server's, and a home for whatever the tests write. */
  readonly directory: string;
  readonly kubectl: Kubectl;
}

type Server = Pick<ControlPlane, "directory" | "kubeconfig" | "stop">;

/** Starts the server before the tests that this is called among, and ends it after them, which has to succeed. Until then there is none. */
export function kubectlPlace(path: string, start: (directory: string) => Promise<Server> = startUp): KubectlPlace {
  let opened: { readonly server: Server; readonly kubectl: Kubectl } | undefined;
  const now = () => {
    if (opened === undefined) throw new Error("the server is started before the tests, not before they are named");
    return opened;
  };
  beforeAll(async () => {
    const server = await start(await temporaryDirectory());
    opened = { server, kubectl: await openKubectl(path, server.kubeconfig) };
  });
  afterAll(async () => {
    const { server } = now();
    await server.stop();
    await removeDirectory(server.directory);
  });
  return {
    get directory() {
      return now().server.directory;
    },
    kubectl: {
      path,
      get minor() {
        return now().kubectl.minor;
      },
      run: (...words) => now().kubectl.run(...words),
      must: (...words) => now().kubectl.must(...words),
      start: (...words) => now().kubectl.start(...words),
    },
  };
}

async function startUp(directory: string): Promise<Server> {
  const server = await startServer(directory);
  return {
    directory,
    kubeconfig: server.kubeconfig,
    async stop() {
      expect(await server.stop()).toBe(0);
      await endRunner(directory);
    },
  };
}
