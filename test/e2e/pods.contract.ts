import { fileURLToPath } from "node:url";
import { freePort } from "#test/support/free-port.ts";
import { kubectlPaths } from "#test/support/kubectl.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPods, podOf, type PodPlace, shell } from "#test/support/pods.ts";
import { exec } from "#test/support/slipway.ts";

/** Runs until it is asked to end, and says when it can be. What the shell says of its own end is nobody's business. */
const untilTerm = (farewell: string, ready = ":") =>
  `exec 2>/dev/null; trap '${farewell}' TERM; ${ready}; while :; do sleep 0.1; done`;

const pythonStreams = fileURLToPath(new URL("pod-streams.py", import.meta.url));
const state = ".status.containerStatuses[0]";
const shared = { volumes: [{ name: "shared", emptyDir: {} }] };
const volumeMounts = [{ name: "shared", mountPath: "/shared" }];
const kubectlPath = kubectlPaths[0];
/** A shell script asked every second, whose answer may take what it takes on a busy machine: late is not sick. */
const probe = (script: string, more: object = {}) => ({
  exec: { command: ["/bin/sh", "-c", script] },
  periodSeconds: 1,
  timeoutSeconds: 60,
  ...more,
});

/**
 * What a Pod means, whatever it runs on: the same documents and the same outcomes on every runtime. `environment` of the server, once
 * it is to start.
 */
export function podContract(
  runtime: "process" | "docker",
  environment: () => Readonly<Record<string, string>> = () => ({}),
): void {
  describe(`pods on the ${runtime} runtime`, () => {
    let place: PodPlace;
    beforeAll(async () => {
      place = await openPods(runtime, environment());
    });
    afterAll(() => place.close());

    /** Events are written beside the way of what they tell of. */
    const hasEvent = (name: string, wanted: string | RegExp) => expect.poll(() => place.events(name)).toMatch(wanted);

    test("sidecars start in order before the others, and end after them in the opposite order", async () => {
      // They say so when they can be asked to end.
      const begins = (name: string, farewell: string) => untilTerm(farewell, `echo +${name} >> /shared/trace`);
      const trace = (name: string) =>
        shell(name, begins(name, `echo -${name} >> /shared/trace; exit 3`), {
          restartPolicy: "Always",
          startupProbe: probe(`grep -q +${name} /shared/trace`, { failureThreshold: 60 }),
          volumeMounts,
        });
      const init = shell("init", "echo init >> /shared/trace", { volumeMounts });
      // The last one to be ended tells what it has seen: nobody is left to be asked after it.
      const last = shell("a", begins("a", "cat /shared/trace; exit 0"), {
        restartPolicy: "Always",
        startupProbe: probe("grep -q +a /shared/trace", { failureThreshold: 60 }),
        volumeMounts,
      });
      const main = shell("main", "echo main >> /shared/trace", { volumeMounts });
      const spec = { ...shared, terminationGracePeriodSeconds: 60, initContainers: [last, init, trace("b")] };
      await place.apply(podOf("sidecars", [main], spec));
      await place.waitFor("sidecars", ".status.phase", "Succeeded");
      expect(await place.kubectl.must(["logs", "sidecars", "-c", "a"])).toBe("+a\ninit\n+b\nmain\n-b\n");
      expect(await place.read("pod/sidecars", ".status.initContainerStatuses[2].state.terminated.exitCode")).toBe("3");
      expect(await place.kubectl.must(["get", "pod", "sidecars", "--no-headers"])).toMatch(
        /^sidecars\s+0\/3\s+Completed/,
      );
    });

    test("what a Pod leaves is what the next one takes, with its rights and links", async () => {
      const leaves = [
        { name: "tree", path: "out/tree" },
        { name: "file", path: "file" },
        { name: "none", path: "none", optional: true },
      ];
      const make = shell(
        "make",
        'cd "$SLIPWAY_ARTIFACTS"; mkdir -p out/tree/sub; echo text > out/tree/sub/a; chmod 755 out/tree/sub/a; ln -s sub/a out/tree/b; echo one > file',
      );
      const annotated = (name: string, annotations: object, container: object, spec: object = {}) => {
        const pod = podOf(name, [container], spec);
        const texts = Object.entries(annotations).map(([key, value]) => [`slipway.dev/${key}`, JSON.stringify(value)]);
        return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(texts) } };
      };
      await place.apply(annotated("leaves", { "leaves-artifacts": leaves }, make));
      await place.waitFor("leaves", ".status.phase", "Succeeded");
      const noted = await place.read("pod/leaves", String.raw`.metadata.annotations.slipway\.dev/left-artifacts`);
      const { artifacts } = JSON.parse(noted) as { artifacts: Readonly<Record<string, object>> };
      expect(Object.keys(artifacts)).toEqual(["tree", "file"]);
      const takes = [
        { ...artifacts["tree"], name: "t", path: "in/here" },
        { ...artifacts["file"], name: "f", path: "in/file" },
      ];
      const look = shell(
        "look",
        'cd "$SLIPWAY_ARTIFACTS/in"; test -x here/sub/a && readlink here/b && cat here/b file && echo more >> here/sub/a',
      );
      await place.apply(annotated("takes", { "takes-artifacts": takes }, look));
      await place.waitFor("takes", ".status.phase", "Succeeded");
      expect(await place.kubectl.must(["logs", "takes"])).toBe("sub/a\ntext\none\n");
      // What one Pod does to its own leaves the stored bytes as they are.
      await place.apply(
        annotated("again", { "takes-artifacts": takes }, shell("look", "cat $SLIPWAY_ARTIFACTS/in/here/b")),
      );
      await place.waitFor("again", ".status.phase", "Succeeded");
      expect(await place.kubectl.must(["logs", "again"])).toBe("text\n");
      const gone = [{ name: "g", path: "g", digest: `sha256:${"0".repeat(64)}`, size: 1 }];
      await place.apply(annotated("lacks", { "takes-artifacts": gone }, look));
      await place.waitFor("lacks", ".status.phase", "Failed");
      expect(await place.read("pod/lacks", ".status.reason")).toBe("ArtifactMissing");
    });

    test("a Job whose Pod has a sidecar completes", async () => {
      const side = shell("side", "while :; do sleep 0.1; done", { restartPolicy: "Always" });
      const template = podOf("", [shell("main", "exit 0")], { initContainers: [side] });
      const spec = { template: { spec: template.spec } };
      await place.apply({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "aside" }, spec });
      await place.kubectl.must(["wait", "job/aside", "--for=condition=Complete", "--timeout=60s"]);
      expect(await place.read("job/aside", ".status.succeeded")).toBe("1");
    });

    test("a container is ready when its probe says so, and starts again when it is not alive any more", async () => {
      const script = "touch /shared/ready; while :; do sleep 0.1; done";
      const probes = {
        // Whoever is still sick from before is not asked yet whether it is alive.
        startupProbe: probe("test -e /shared/started && test ! -e /shared/sick", { failureThreshold: 60 }),
        readinessProbe: probe("test -e /shared/ready"),
        livenessProbe: probe("touch /shared/asked; test ! -e /shared/sick", { failureThreshold: 1 }),
        lifecycle: { postStart: { exec: { command: ["/bin/sh", "-c", "touch /shared/started"] } } },
      };
      // One restart heals it.
      const patient = shell("main", `rm -f /shared/sick; ${script}`, { ...probes, volumeMounts });
      const poison = shell(
        "poison",
        "while [ ! -e /shared/poisoned ]; do test -e /shared/ready -a -e /shared/asked && touch /shared/sick /shared/poisoned; sleep 0.1; done; sleep 600",
        { volumeMounts },
      );
      await place.apply(podOf("probed", [patient, poison], { ...shared, restartPolicy: "Always" }));
      await place.waitFor("probed", `${state}.restartCount`, "1");
      await place.kubectl.must(["wait", "pod/probed", "--for=condition=Ready", "--timeout=60s"]);
      await hasEvent("probed", /^Unhealthy Liveness probe of container main failed/m);
      await hasEvent("probed", /^Killing Container main failed liveness probe/m);
      await place.kubectl.must(["delete", "pod", "probed", "--grace-period=1"]);
    });

    test("probes reach ports by HTTP and TCP", async () => {
      const port = await freePort();
      // The page is there when the label says so, which is when a probe has been answered without it.
      const script = `mkdir /shared/www; busybox httpd -f -p ${port} -h /shared/www &
        until grep -q yes /info/page; do sleep 0.1; done; touch /shared/www/index.html; exec sleep 600`;
      const items = [{ path: "page", fieldRef: { fieldPath: "metadata.labels['page']" } }];
      const container = shell("main", script, {
        ports: [{ name: "web", containerPort: port }],
        startupProbe: { tcpSocket: { port }, periodSeconds: 1, failureThreshold: 60 },
        readinessProbe: { httpGet: { port: "web", path: "/index.html" }, periodSeconds: 1 },
        volumeMounts: [...volumeMounts, { name: "info", mountPath: "/info" }],
      });
      const volumes = [...shared.volumes, { name: "info", downwardAPI: { items } }];
      await place.apply(podOf("web", [container], { volumes }, { labels: { page: "no" } }));
      await place.waitFor("web", `${state}.started`, "true");
      await hasEvent("web", "HTTP probe failed with statuscode: 404");
      await place.kubectl.must(["label", "pod", "web", "page=yes", "--overwrite"]);
      await place.kubectl.must(["wait", "pod/web", "--for=condition=Ready", "--timeout=60s"]);
      await place.kubectl.must(["delete", "pod", "web", "--grace-period=1"]);
    });

    test("a client of another language runs commands in a Pod, and reaches its ports", async () => {
      const port = await freePort();
      const script = `mkdir /shared/www; for name in first second; do echo $name > /shared/www/$name; done
        exec busybox httpd -f -p ${port} -h /shared/www`;
      const container = shell("main", script, {
        readinessProbe: { httpGet: { port, path: "/first" }, periodSeconds: 1 },
        volumeMounts,
      });
      await place.apply(podOf("streams", [container], shared));
      await place.kubectl.must(["wait", "pod/streams", "--for=condition=Ready", "--timeout=60s"]);
      const args = [pythonStreams, place.server.kubeconfig, "streams", "main", `${port}`];
      const { code, out, err } = await exec("/usr/bin/python3", args);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(JSON.parse(out)).toEqual({
        streams: { out: "out\n", err: "err\n", code: 7 },
        unpacked: true,
        answers: ["second\n", "first\n"],
        errors: [null, null, expect.stringMatching(/^error forwarding port 1: cannot connect to .*:1: /)],
      });
      await place.kubectl.must(["delete", "pod", "streams", "--grace-period=1"]);
    });

    test("a claim is mounted, whole and in part, keeps what is written, and stays as long as it is used", async () => {
      const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
      const mounts = (...volumeMounts: object[]) => ({
        volumeMounts: volumeMounts.map((one) => ({ name: "data", ...one })),
      });
      const writer = podOf("writer", [shell("main", "id -u > /data/uid", mounts({ mountPath: "/data" }))], { volumes });
      await place.apply(writer);
      await place.kubectl.must(["wait", "pod/writer", "--for=condition=PodScheduled=false", "--timeout=30s"]);
      await hasEvent("writer", 'FailedScheduling 0/1 nodes are available: persistentvolumeclaim "data" not found');
      const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
      await place.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" }, spec });
      await place.waitFor("writer", ".status.phase", "Succeeded");
      const reading = shell(
        "main",
        "cat /data/uid; echo x > /ro/denied || echo denied; echo part > /part/file; cat /data/inner/file; exec sleep 600",
        mounts({ mountPath: "/data" }, { mountPath: "/ro", readOnly: true }, { mountPath: "/part", subPath: "inner" }),
      );
      await place.apply(podOf("reader", [reading], { volumes }));
      await place.waitFor("reader", ".status.phase", "Running");
      const follower = place.kubectl.start(["logs", "-f", "reader"]);
      const out = await follower.until((text) => text.includes("part\n"));
      expect(out.replace(/.*(?:nonexistent|Read-only).*\n/, "")).toBe("0\ndenied\npart\n");
      await follower.stop();
      await place.kubectl.must(["delete", "pvc", "data", "--wait=false"]);
      expect(await place.kubectl.must(["get", "pvc", "data", "--no-headers"])).toContain("Terminating");
      await place.apply(podOf("late", [shell("main", "true", mounts({ mountPath: "/data" }))], { volumes }));
      await place.kubectl.must(["wait", "pod/late", "--for=condition=PodScheduled=false", "--timeout=30s"]);
      await hasEvent("late", 'persistentvolumeclaim "data" is being deleted');
      await place.kubectl.must(["delete", "pod", "reader", "--grace-period=0", "--force"]);
      await place.kubectl.must(["wait", "pvc/data", "--for=delete", "--timeout=30s"]);
      await place.kubectl.must(["delete", "pod", "late"]);
    });

    test("files follow their sources, all of them at once, but where a part of a volume is mounted", async () => {
      const config = (data: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "followed" }, data });
      const items = [{ path: "app", fieldRef: { fieldPath: "metadata.labels['app']" } }];
      const sources = [{ configMap: { name: "followed" } }, { downwardAPI: { items } }];
      const followed = shell(
        "main",
        `show() { echo "$1: $(cd $2 && grep . * | tr '\\n' ' ')part=$(cat /followed-part)"; }
        show first /followed; while ! grep -q 2 /followed/a; do sleep 0.1; done; show second /followed/..data
        while ! grep -q new /followed/app; do sleep 0.1; done; show third /followed; exec sleep 600`,
        {
          volumeMounts: [
            { name: "all", mountPath: "/followed" },
            { name: "all", mountPath: "/followed-part", subPath: "a" },
          ],
          // Commands beside the container see what it sees.
          readinessProbe: probe("grep -q 1 /followed-part && grep -q new /followed/app"),
        },
      );
      const volumes = [{ name: "all", projected: { sources } }];
      await place.apply(
        config({ a: "1", b: "1" }),
        podOf("follower", [followed], { volumes }, { labels: { app: "old" } }),
      );
      const logs = () => place.kubectl.must(["logs", "follower"]);
      await place.waitFor("follower", ".status.phase", "Running");
      const reader = place.kubectl.start(["logs", "-f", "follower"]);
      await reader.until((out) => out.includes("first"));
      await place.apply(config({ a: "2", c: "2" }));
      await reader.until((out) => out.includes("second"));
      await place.kubectl.must(["label", "pod", "follower", "app=new", "--overwrite"]);
      await reader.until((out) => out.includes("third"));
      await reader.stop();
      expect(await logs()).toBe(
        "first: a:1 app:old b:1 part=1\nsecond: a:2 app:old c:2 part=1\nthird: a:2 app:new c:2 part=1\n",
      );
      await place.kubectl.must(["wait", "pod/follower", "--for=condition=Ready", "--timeout=60s"]);
      await place.kubectl.must(["delete", "pod", "follower", "--grace-period=1"]);
    });

    test("a pod reaches the API server as its account, with a token of its own", async () => {
      const directory = "/var/run/secrets/kubernetes.io/serviceaccount";
      const sources = [
        { serviceAccountToken: { path: "token", expirationSeconds: 600 } },
        { configMap: { name: "kube-root-ca.crt" } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      ];
      const volumes = [
        { name: "access", projected: { sources } },
        // The machine's own program, which is the same in a container.
        { name: "kubectl", hostPath: { path: kubectlPath, type: "File" } },
      ];
      const mounts = [
        { name: "access", mountPath: directory, readOnly: true },
        { name: "kubectl", mountPath: kubectlPath },
      ];
      const script = `${kubectlPath} get pod inside -o name && ! ${kubectlPath} get secrets; sleep 600`;
      await place.kubectl.must(["create", "serviceaccount", "reader"]);
      await place.kubectl.must([
        "create",
        "rolebinding",
        "readers",
        "--clusterrole=view",
        "--serviceaccount=default:reader",
      ]);
      const spec = { volumes, serviceAccountName: "reader" };
      await place.apply(podOf("inside", [shell("main", script, { volumeMounts: mounts })], spec));
      await place.waitFor("inside", ".status.phase", "Running");
      const follower = place.kubectl.start(["logs", "-f", "inside"]);
      // They are on two outputs, of which either may be read first.
      await follower.until((text) =>
        ["pod/inside\n", 'User "system:serviceaccount:default:reader" cannot list resource "secrets"'].every((said) =>
          text.includes(said),
        ),
      );
      await follower.stop();
      await place.kubectl.must(["delete", "pod", "inside", "--grace-period=1"]);
    });

    test("a pod that says nothing of tokens gets what its runtime has for it", async () => {
      await place.apply(podOf("silent", [shell("main", "true")]));
      await place.waitFor("silent", ".status.phase", "Succeeded");
      const mounts = await place.read("pod/silent", ".spec.containers[0].volumeMounts[*].mountPath");
      expect(mounts).toBe(runtime === "docker" ? "/var/run/secrets/kubernetes.io/serviceaccount" : "");
    });

    test("a preStop hook runs before TERM", async () => {
      const lifecycle = { preStop: { exec: { command: ["/bin/sh", "-c", "echo hook >> /shared/end"] } } };
      const script = untilTerm("echo term >> /shared/end; cat /shared/end; exit 0", "echo up");
      const pod = podOf("hooked", [shell("main", script, { lifecycle, volumeMounts })], {
        ...shared,
        terminationGracePeriodSeconds: 20,
      });
      await place.apply(pod);
      await place.waitFor("hooked", ".status.phase", "Running");
      const follower = place.kubectl.start(["logs", "-f", "hooked"]);
      await follower.until((out) => out.includes("up"));
      await place.kubectl.must(["delete", "pod", "hooked"]);
      expect(await follower.until((out) => out.includes("term\n"))).toBe("up\nhook\nterm\n");
      await follower.stop();
    });
  });
}
