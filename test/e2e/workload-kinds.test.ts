import { afterAll, describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

// Deployments, CronJobs, Services, quotas, claims and nodes as people use them: real kubectl, Pods as processes of this machine.

const podSpec = (image: string) => ({
  terminationGracePeriodSeconds: 0,
  containers: [{ name: "main", image, command: ["sleep", "600"] }],
});
const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec("example/web:1") },
  },
});

const cronJob = (name: string) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name },
  spec: {
    schedule: "0 0 1 1 *",
    jobTemplate: {
      spec: {
        template: {
          spec: {
            restartPolicy: "OnFailure",
            containers: [{ name: "main", image: "example/tick", command: ["true"] }],
          },
        },
      },
    },
  },
});

describe.each(kubectlsUnderTest)("%s", (path) => {
  const { kubectl } = kubectlPlace(path);

  afterAll(async () => {
    await kubectl.must(["delete", "deployments,cronjobs,jobs,pods", "--all", "--wait=false"]);
  });

  const apply = (...objects: readonly object[]) =>
    kubectl.must(["apply", "-f", "-"], { input: objects.map((object) => JSON.stringify(object)).join("\n---\n") });
  const rolledOut = (name: string) => kubectl.must(["rollout", "status", `deployment/${name}`, "--timeout=60s"]);
  const field = async (what: string, jsonpath: string) => kubectl.must(["get", what, "-o", `jsonpath={${jsonpath}}`]);

  test("a Deployment is rolled out, changed, undone, paused, restarted and scaled", async () => {
    await apply(deployment("web", 2));
    expect(await rolledOut("web")).toContain('deployment "web" successfully rolled out');
    expect(await kubectl.must(["get", "deploy", "web"])).toMatch(/\nweb +2\/2 +2 +2 +[\dms]+\n$/);
    expect(await apply(deployment("web", 2))).toContain("unchanged");

    await kubectl.must(["set", "image", "deployment/web", "main=example/web:2"]);
    await rolledOut("web");
    expect(await field("deploy/web", ".spec.template.spec.containers[0].image")).toBe("example/web:2");
    expect(
      await kubectl.must([
        "get",
        "pods",
        "-l",
        "app=web",
        "--field-selector=status.phase=Running",
        "-o",
        "jsonpath={.items[*].spec.containers[0].image}",
      ]),
    ).toBe("example/web:2 example/web:2");
    const history = await kubectl.must(["rollout", "history", "deployment/web"]);
    expect(history).toMatch(/\n1 .*\n2 /);

    await kubectl.must(["rollout", "undo", "deployment/web"]);
    await rolledOut("web");
    expect(await field("deploy/web", ".spec.template.spec.containers[0].image")).toBe("example/web:1");
    expect(await kubectl.must(["rollout", "history", "deployment/web"])).toMatch(/\n2 .*\n3 /);

    await kubectl.must(["rollout", "pause", "deployment/web"]);
    await kubectl.must(["set", "image", "deployment/web", "main=example/web:4"]);
    const sets = (await kubectl.must(["get", "rs", "-l", "app=web", "-o", "name"])).trim().split("\n");
    expect(sets).toHaveLength(2);
    await kubectl.must(["rollout", "resume", "deployment/web"]);
    await rolledOut("web");
    expect((await kubectl.must(["get", "rs", "-l", "app=web", "-o", "name"])).trim().split("\n")).toHaveLength(3);

    await kubectl.must(["rollout", "restart", "deployment/web"]);
    await rolledOut("web");
    expect(await field("deploy/web", ".spec.template.metadata.annotations")).toContain("restartedAt");

    await kubectl.must(["scale", "deployment/web", "--replicas=3"]);
    await rolledOut("web");
    expect(await field("deploy/web", ".status.availableReplicas")).toBe("3");
    expect(await kubectl.must(["describe", "deployment", "web"])).toMatch(/ScalingReplicaSet/);

    await kubectl.must(["delete", "deployment", "web", "--cascade=foreground", "--timeout=60s"]);
    expect(await kubectl.must(["get", "rs,pods", "-l", "app=web", "-o", "name"])).toBe("");
  });

  test("a rollout that cannot succeed keeps the old Pods and is told as stuck", async () => {
    await apply(deployment("stuck", 2));
    await rolledOut("stuck");
    // The short deadline comes with the bad rollout: on a busy machine the good one may take longer.
    const command = JSON.stringify({
      spec: {
        progressDeadlineSeconds: 2,
        template: { spec: { containers: [{ name: "main", command: ["false"] }] } },
      },
    });
    await kubectl.must(["patch", "deployment", "stuck", "-p", command]);
    const status = await kubectl.run(["rollout", "status", "deployment/stuck", "--timeout=60s"]);
    expect([status.code, status.err]).toEqual([1, expect.stringContaining("exceeded its progress deadline")]);
    expect(Number(await field("deploy/stuck", ".status.availableReplicas"))).toBeGreaterThanOrEqual(2);
    await kubectl.must(["delete", "deployment", "stuck"]);
  });

  test("a CronJob makes Jobs by hand and by the calendar", async () => {
    // Before 1.21 kubectl made CronJobs, and Jobs from them, of batch/v1beta1 only, which no server has any more.
    if (Number(kubectl.minor.split(".")[1]) < 21) await apply(cronJob("tick"));
    else {
      await kubectl.must(["create", "cronjob", "tick", "--image=example/tick", "--schedule=0 0 1 1 *", "--", "true"]);
      await kubectl.must(["create", "job", "by-hand", "--from=cronjob/tick"]);
      await kubectl.must(["wait", "--for=condition=Complete", "job/by-hand", "--timeout=60s"]);
      expect(await field("job/by-hand", ".metadata.ownerReferences[0].kind")).toBe("CronJob");
      expect(await kubectl.must(["describe", "cronjob", "tick"])).toMatch(/Concurrency Policy: +Allow/);
    }
    expect(await kubectl.must(["get", "cronjobs"])).toMatch(/\ntick +0 0 1 1 \* +<none> +False +0 +<none> +[\dms]+\n$/);
    await kubectl.must(["patch", "cronjob", "tick", "-p", '{"spec":{"schedule":"@every 1s"}}']);
    await expect.poll(() => field("cronjob/tick", ".status.lastScheduleTime"), { timeout: 30_000 }).not.toBe("");
    const events = [
      "get",
      "events",
      "--field-selector=involvedObject.kind=CronJob",
      "-o",
      "jsonpath={.items[*].reason}",
    ];
    await expect.poll(() => kubectl.must(events), { timeout: 30_000 }).toContain("SuccessfulCreate");
    await kubectl.must(["delete", "cronjob", "tick", "--timeout=60s"]);
  });

  test("Services get addresses, quotas refuse, claims are bound, the machine is a Node", async () => {
    await kubectl.must(["create", "service", "clusterip", "web", "--tcp=80:8080"]);
    expect(await kubectl.must(["get", "svc", "web"])).toMatch(
      /\nweb +ClusterIP +10\.96\.\d+\.\d+ +<none> +80\/TCP +[\dms]+\n$/,
    );
    expect(await kubectl.must(["describe", "service", "web"])).toMatch(/TargetPort: +8080\/TCP/);

    await kubectl.must(["create", "namespace", "small"]);
    await kubectl.must(["create", "quota", "q", "-n", "small", "--hard=count/secrets=1"]);
    await kubectl.must(["create", "secret", "generic", "one", "-n", "small"]);
    const refused = await kubectl.run(["create", "secret", "generic", "two", "-n", "small"]);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining("exceeded quota: q, requested: count/secrets=1"),
    ]);
    await expect.poll(() => kubectl.must(["describe", "quota", "q", "-n", "small"])).toMatch(/count\/secrets +1 +1/);

    await apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await expect.poll(() => kubectl.must(["get", "pvc", "data"])).toMatch(/\ndata +Bound +pvc-\S+ +1Gi +RWO /);
    expect(await kubectl.must(["describe", "pvc", "data"])).toMatch(/Status: +Bound/);
    await kubectl.must(["delete", "pvc", "data", "--timeout=30s"]);

    expect(await kubectl.must(["get", "nodes"])).toMatch(/ Ready +<none> +\S+ +v1\.33\.0\+slipway/);
    await expect
      .poll(() => kubectl.must(["describe", "nodes"]), { timeout: 60_000, interval: 500 })
      .toMatch(/HolderIdentity: +\S+\n *AcquireTime: +\S+\n *RenewTime: +\w{3}, /);
    const described = await kubectl.must(["describe", "nodes"]);
    expect(described).toMatch(/Architecture: +(amd64|arm64)/);
    expect(described).toMatch(/slipway\.dev\/runtime=process/);
    expect(described).toMatch(/Ready +True .* KubeletReady/);
    expect(await kubectl.must(["get", "nodes", "-o", "wide"])).toMatch(/ 127\.0\.0\.1 .* process:\/\//);

    // `kubectl create pdb` of old clients asks for policy/v1beta1, which no server of this version has.
    const spec = { minAvailable: 1, selector: { matchLabels: { app: "web" } } };
    const pdb = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "web" }, spec };
    const budget = await kubectl.run(["create", "-f", "-"], { input: JSON.stringify(pdb) });
    expect([budget.code, budget.err]).toEqual([0, expect.stringContaining("stored, not acted upon")]);
    expect(await kubectl.must(["get", "pdb"])).toMatch(/\nweb +1 +N\/A +0 +[\dms]+\n$/);
    expect(await kubectl.must(["get", "all", "-o", "name"])).toContain("service/web");
  });
});
