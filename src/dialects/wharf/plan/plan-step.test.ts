import { describe, expect, test } from "vitest";
import { fileVariables, prepared, told } from "../testing/prepared.ts";
import type { PrepareRequest } from "../prepare.ts";

const texts = {
  REG_URL: "registry.example",
  REPO_GROUP: "group/sub",
  REPO_NAME: "app",
  CHART_REPO: "https://charts.example",
  HELM_REG_SECRET: "helm-login",
};
const surroundings = fileVariables(texts);

function planOf(step: string, more: Partial<PrepareRequest> = {}) {
  const { plan, diagnostics } = prepared(`stage:\n  step: {${step}}\n`, { surroundings, ...more });
  return { plan: plan?.stages[0]?.steps[0], problems: told(diagnostics) };
}

/** What is alike for every type of step. */
const alike = { stepId: 1, stage: "stage", step: "step", workdir: "/mnt/repo", envFrom: [], mounts: [], os: "linux" };
const rest = { artifacts: [], testResults: [], pullPolicy: "IfNotPresent", repo: { overlay: [] } };
const env = [
  { name: "CI", value: "true" },
  { name: "WHARF_ARTIFACTS_DIR", value: "/mnt/artifacts" },
  { name: "WHARF_STAGE", value: "stage" },
  { name: "WHARF_STEP", value: "step" },
];
const config = (name: string, path: string) => ({ kind: "configMap", name, path, readOnly: true });
const certificates = config("ca-certificates-config", "/certs");
const kubeconfig = (name = "kubectl-config") => config(name, "/root/.kube");
const helmSecret = {
  kind: "secret",
  name: "helm-login",
  items: { "config.json": "config.json" },
  path: "/etc/helm/registry",
  readOnly: true,
};
const helmEnv = { name: "HELM_REGISTRY_CONFIG", value: "/etc/helm/registry/config.json" };

describe("container", () => {
  test("minimal", () => {
    expect(planOf("container: {image: alpine, cmds: [a, b]}")).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "container",
        image: "alpine",
        entry: ["/bin/sh", "-c"],
        args: ["a\nb"],
        env,
        serviceAccount: "default",
        pullPolicy: "Always",
      },
      problems: [],
    });
  });

  test("full", () => {
    const step =
      "container: {image: w, cmds: [a], os: windows, secretName: s, serviceAccount: acc, certificatesMountPath: /certs, " +
      "artifacts: [out/*], testResults: ['*.trx'], env: {A: b}, timeout: 1m30s}";
    expect(planOf(step, { projectId: 7, buildId: 12 }).plan).toEqual({
      ...alike,
      ...rest,
      type: "container",
      image: "w",
      entry: ["powershell.exe", "-C"],
      args: ["a"],
      env: [{ name: "A", value: "b" }, ...env.slice(0, 2), { name: "WHARF_BUILD_ID", value: "12" }, ...env.slice(2)],
      envFrom: ["wharf-local-project-7-secretname-s"],
      mounts: [certificates],
      serviceAccount: "acc",
      pullPolicy: "Always",
      os: "windows",
      artifacts: ["out/*"],
      testResults: ["*.trx"],
      timeoutMs: 90_000,
    });
    expect(planOf("container: {image: w, cmds: [a], shell: /bin/bash}").plan?.entry).toEqual(["/bin/bash", "-c"]);
    expect(planOf("container: {image: w, cmds: [a], os: windows, shell: cmd}").plan?.entry).toEqual(["cmd", "-c"]);
  });

  test("a secret needs a project", () => {
    expect(planOf("container: {image: w, cmds: [a], secretName: s}").problems).toEqual([
      "2:55 error[var-missing] stage/step/container/secretName: the variable PROJECT_ID is needed here and not set",
    ]);
  });
});

describe("docker", () => {
  const login = (name: string) => ({
    kind: "secret",
    name,
    items: { ".dockerconfigjson": "config.json" },
    path: "/kaniko/.docker",
    readOnly: true,
  });
  const first = ["--dockerfile", "/mnt/repo/Dockerfile", "--context", "/mnt/repo", "--skip-tls-verify"];

  test("minimal", () => {
    expect(planOf("docker: {file: Dockerfile, tag: latest}")).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "docker",
        image: "gcr.io/kaniko-project/executor:v1.7.0",
        args: [...first, "--destination", "registry.example/group/sub/app/step:latest"],
        env,
        mounts: [login("gitlab-registry")],
      },
      problems: [],
    });
  });

  test("full", () => {
    const step =
      "docker: {file: ./d/Dockerfile, tag: ' 1 ,, latest,', name: app, group: Default/x, registry: 'http://r/', context: ./sub, " +
      "secret: mine, push: false, args: [A=1], secretName: s, secretArgs: [TOKEN=key]}";
    const insecure = fileVariables({ ...texts, REG_INSECURE: "true" });
    expect(planOf(step, { projectId: 7, surroundings: insecure })).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "docker",
        image: "gcr.io/kaniko-project/executor:v1.7.0",
        args: [
          "--dockerfile",
          "/mnt/repo/d/Dockerfile",
          "--context",
          "/mnt/repo/sub",
          "--skip-tls-verify",
          "--insecure",
          "--build-arg",
          "A=1",
          "--destination",
          "r/Default/x/app:1",
          "--destination",
          "r/Default/x/app:latest",
          "--no-push",
          "--build-arg",
          "TOKEN",
        ],
        env: [{ name: "TOKEN", secretRef: { name: "wharf-local-project-7-secretname-s", key: "key" } }, ...env],
        mounts: [login("mine"), config("ca-certificates-config", "/mnt/cert")],
        repo: {
          overlay: [
            {
              path: "./d/Dockerfile",
              change: "append",
              text: "\nRUN cat /mnt/cert/root.crt >> /etc/ssl/certs/ca-certificates.crt\n",
            },
          ],
        },
      },
      problems: [
        "2:10 warning[scheme-stripped] stage/step/docker/destination: names of images have no scheme; taken as r/Default/x/app",
      ],
    });
  });

  test("a destination needs no variables, and secrets may be none", () => {
    const { plan, problems } = planOf("docker: {file: f, tag: t, destination: r/i, secret: ''}", { surroundings: [] });
    expect(problems).toEqual([]);
    expect(plan).toMatchObject({ mounts: [], repo: { overlay: [] } });
    expect(plan?.args.slice(-2)).toEqual(["--destination", "r/i:t"]);
    const reg = fileVariables({ REG_SECRET: "theirs" });
    const other = planOf("docker: {file: f, tag: t, destination: r/i, append-cert: true}", { surroundings: reg });
    expect(other.plan?.mounts.map(({ name }) => name)).toEqual(["theirs", "ca-certificates-config"]);
  });

  test("each variable that is missing is told by itself, with where it can be set", () => {
    const { diagnostics } = prepared("s: {d: {docker: {file: f, tag: t}}}\n");
    expect(diagnostics.map(({ code, path, hint }) => [code, path, hint])).toEqual([
      ["var-missing", "s/d/docker/registry", "set it in .wharf-vars.yml, or as WHARF_VAR_REG_URL"],
      ["var-missing", "s/d/docker/group", "set it in .wharf-vars.yml, or as WHARF_VAR_REPO_GROUP"],
      ["var-missing", "s/d/docker/destination", "set it in .wharf-vars.yml, or as WHARF_VAR_REPO_NAME"],
    ]);
  });
});

describe("helm", () => {
  const minimal = ["upgrade", "--install", "n", "c", "--repo"];

  test("minimal", () => {
    expect(planOf("helm: {chart: c, name: n, namespace: ns}")).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "helm",
        image: "docker.io/wharfse/helm:v2.14.1",
        entry: ["helm"],
        args: [...minimal, "https://charts.example/group/sub", "--namespace", "ns"],
        env: [helmEnv, ...env],
        mounts: [kubeconfig(), helmSecret],
      },
      problems: [],
    });
  });

  test("full", () => {
    const step =
      "helm: {chart: c, name: n, namespace: ns, repo: stage, set: {a.b: 'x,y\\z'}, files: [v.yml, https://h/w.yml], " +
      "chartVersion: 1.2.3, helmVersion: v3, cluster: other, secret: ''}";
    expect(planOf(step, { surroundings: [] })).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "helm",
        image: "docker.io/wharfse/helm:v3",
        entry: ["helm"],
        args: [
          ...minimal,
          "https://kubernetes-charts.storage.googleapis.com",
          "--namespace",
          "ns",
          "--version",
          "1.2.3",
          "--values",
          "v.yml",
          "--values",
          "https://h/w.yml",
          "--set-string",
          "a.b=x\\,y\\\\z",
        ],
        env,
        mounts: [kubeconfig("other")],
        repo: { overlay: [{ path: "v.yml", change: "substitute" }] },
      },
      problems: [],
    });
  });
});

describe("helm-package", () => {
  test("minimal and full differ in what the script is told", () => {
    const minimal = planOf("helm-package: {}");
    expect(minimal.problems).toEqual([]);
    expect(minimal.plan).toMatchObject({
      ...alike,
      ...rest,
      type: "helm-package",
      image: "wharfse/helm:v3.8.1",
      entry: ["/bin/sh", "-c"],
      mounts: [helmSecret],
    });
    expect(minimal.plan?.env).toEqual([
      { name: "CHART_PATH", value: "." },
      { name: "CHART_VERSION", value: "" },
      { name: "CHART_REPO", value: "https://charts.example/group/sub" },
      { name: "WHARF_PACKAGES", value: "/tmp/wharf-packages" },
      helmEnv,
      ...env,
    ]);
    const full = planOf("helm-package: {version: 1.2.3, chart-path: '$(x)', destination: oci://r, secret: ''}", {
      surroundings: [],
    });
    expect(full.plan?.env.slice(0, 3)).toEqual([
      { name: "CHART_PATH", value: "$(x)" },
      { name: "CHART_VERSION", value: "1.2.3" },
      { name: "CHART_REPO", value: "oci://r" },
    ]);
    expect(full.plan?.args).toEqual(minimal.plan?.args);
  });
});

test.each(["helm: {chart: c, name: n, namespace: ns}", "helm-package: {}"])(
  "without HELM_REG_SECRET helm runs without a login: %s",
  (step) => {
    const { HELM_REG_SECRET: _, ...others } = texts;
    const { plan, problems } = planOf(step, { surroundings: fileVariables(others) });
    expect(problems).toEqual([]);
    expect(plan?.mounts).not.toContainEqual(helmSecret);
    expect(plan?.env).not.toContainEqual(helmEnv);
  },
);

describe("kubectl", () => {
  test("minimal", () => {
    expect(planOf("kubectl: {file: d.yml}")).toEqual({
      plan: {
        ...alike,
        ...rest,
        type: "kubectl",
        image: "docker.io/wharfse/kubectl:v1.23.5",
        entry: ["kubectl"],
        args: ["apply", "--filename", "d.yml"],
        env,
        mounts: [kubeconfig()],
        repo: { overlay: [{ path: "d.yml", change: "substitute" }] },
      },
      problems: [],
    });
  });

  test("full: files come before file", () => {
    const step = "kubectl: {file: z, files: [a, '-'], namespace: ns, action: delete, force: true, cluster: other}";
    expect(planOf(step).plan).toMatchObject({
      args: ["delete", "--namespace", "ns", "--filename", "a", "--filename", "-", "--filename", "z", "--force"],
      mounts: [kubeconfig("other")],
      repo: { overlay: [{ path: "a" }, { path: "z" }] },
    });
  });
});

test("nuget-package, minimal and full", () => {
  const token = { name: "NUGET_TOKEN", secretRef: { name: "wharf-nuget-api-token", key: "token" } };
  const envOf = (skip: string) => [
    { name: "NUGET_REPO", value: "r" },
    { name: "NUGET_PROJECT_PATH", value: "p" },
    { name: "NUGET_VERSION", value: "1" },
    { name: "NUGET_SKIP_DUP", value: skip },
    token,
    ...env,
  ];
  const minimal = planOf("nuget-package: {version: '1', project-path: p, repo: r}");
  expect(minimal.problems).toEqual([]);
  expect(minimal.plan).toMatchObject({
    ...alike,
    ...rest,
    image: "mcr.microsoft.com/dotnet/sdk:3.1-alpine",
    entry: ["/bin/sh", "-c"],
    env: envOf("false"),
  });
  const full = planOf(
    "nuget-package: {version: '1', project-path: p, repo: r, skip-duplicate: true, certificatesMountPath: /certs}",
  );
  expect(full.plan).toMatchObject({ env: envOf("true"), mounts: [certificates] });
});

describe("values that a program would take for options", () => {
  const option = (field: string) =>
    expect.stringContaining(`/${field}: expected a value that does not begin with "-", found "--evil"`);
  const variables = fileVariables({ ...texts, EVIL: "--evil" });
  test.each([
    ["helm: {chart: '${EVIL}', name: '${EVIL}', namespace: n}", ["chart", "name"]],
    ["helm-package: {chart-path: '${EVIL}', destination: '${EVIL}'}", ["chart-path", "destination"]],
    ["kubectl: {file: a.yml, action: '${EVIL}'}", ["action"]],
    ["nuget-package: {version: 1.0.0, project-path: '${EVIL}', repo: '${EVIL}'}", ["project-path", "repo"]],
  ])("are refused where they stand alone: %s", (step, fields) => {
    const { problems } = planOf(step, { surroundings: variables });
    expect(problems).toEqual(fields.map((field) => option(field)));
  });

  test("and a version adds no property to a build", () => {
    const { problems } = planOf("nuget-package: {version: '1.0;PreBuildEvent=id', project-path: a, repo: r}");
    expect(problems).toEqual([expect.stringContaining("expected a version")]);
  });

  test("are values where an option stands before them", () => {
    const { plan } = planOf(
      "helm: {chart: c, name: n, namespace: '${EVIL}', chartVersion: '${EVIL}', files: [-x.yml]}",
      {
        surroundings: variables,
      },
    );
    expect(plan?.args).toEqual([
      ..."upgrade --install n c --repo https://charts.example/group/sub --namespace --evil".split(" "),
      ..."--version --evil --values -x.yml".split(" "),
    ]);
  });
});
