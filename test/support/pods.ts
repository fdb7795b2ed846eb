import { testImage } from "./docker-engine.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "./kubectl.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "./slipway.ts";

/** A server whose Pods run on one of the runtimes, and the few words that tests of Pods are made of. */
export interface PodPlace {
  readonly kubectl: Kubectl;
  readonly server: TestServer;
  apply(...objects: object[]): Promise<string>;
  /** Resolves when the member at the path reads so. */
  waitFor(pod: string, path: string, value: string): Promise<string>;
  /** Of any object, as `pod/name`. */
  read(object: string, path: string): Promise<string>;
  /** One line per event: its reason and what it says. */
  events(name: string): Promise<string>;
  close(): Promise<void>;
}

export async function openPods(
  runtime: "process" | "docker",
  env: Readonly<Record<string, string>>,
): Promise<PodPlace> {
  const directory = await temporaryDirectory();
  const server = await startServer(directory, ["--runtime", runtime], env);
  const kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
  const events = "jsonpath={range .items[*]}{.reason} {.message}{'\\n'}{end}";
  return {
    kubectl,
    server,
    apply: (...items) =>
      kubectl.must(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) }),
    waitFor: (pod, path, value) =>
      kubectl.must(["wait", `pod/${pod}`, `--for=jsonpath={${path}}=${value}`, "--timeout=60s"]),
    read: (object, path) => kubectl.must(["get", object, "-o", `jsonpath={${path}}`]),
    events: (name) => kubectl.must(["get", "events", "--field-selector", `involvedObject.name=${name}`, "-o", events]),
    async close() {
      await kubectl.run(["delete", "jobs,pods", "--all", "--grace-period=1"]);
      await server.stop();
      await endRunner(directory);
      await removeDirectory(directory);
    },
  };
}

/** A container that runs a shell script, in the test image or as a process. */
export const shell = (name: string, script: string, more: object = {}) => ({
  name,
  image: testImage,
  command: ["/bin/sh", "-c", script],
  ...more,
});

/** A pod that is not restarted and ends soon. `spec` adds to its own, containers included. */
export const podOf = (name: string, containers: readonly object[], spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 2, containers, ...spec },
});
