import { chmod, rm } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newDirectory, writeFiles } from "../repository/testing/projects.ts";
import { told } from "../testing/prepared.ts";
import { findConfiguration } from "./find-configuration.ts";
import { keyByVariable, keys } from "./keys.ts";
import { planSettings } from "./plan-settings.ts";
import { readFileLayer, readVariableLayer } from "./read-configuration.ts";

const read = (source: string) => readFileLayer(Buffer.from(source), "config.yml");

describe("a file", () => {
  test("has settings by their names in any case", () => {
    const source =
      "instanceID: prod\nWORKER:\n  Steps: {docker: {imagetag: v2}}\n  artifacts: {maxFiles: 3}\n  host:\n    clusters: {Kubectl-Config: /k}\n" +
      "watchdog: {interval: 1m30s}\nprovisioner:\n  allowLocalRepos: true\n  k8s: {worker: {extraArgs: [a], extraEnvs: [{name: A, value: b}]}}\n";
    expect(read(source)).toEqual({
      file: "config.yml",
      configuration: {
        instanceId: "prod",
        "worker.steps.docker.imageTag": "v2",
        "worker.artifacts.maxFiles": 3,
        "worker.host.clusters": new Map([["Kubectl-Config", "/k"]]),
        "watchdog.interval": 90_000,
        "provisioner.allowLocalRepos": true,
        "provisioner.k8s.worker.extraArgs": ["a"],
        "provisioner.k8s.worker.extraEnvs": [{ name: "A", value: "b" }],
      },
      diagnostics: [],
    });
  });

  test("may say of artifacts which steps have them, or how many they may be", () => {
    const merged = { "worker.artifacts": "always", "worker.artifacts.maxFiles": 3 };
    expect(read("worker: {artifacts: always}\n---\nworker: {artifacts: {maxFiles: 3}}\n").configuration).toEqual(
      merged,
    );
    expect(told(read("worker: {artifacts: often}\n").diagnostics)).toEqual([
      '1:21 error[type] worker.artifacts: expected one of declared, always, found "often"',
    ]);
  });

  test.each(["", "# nothing\n", "worker:\n", "instanceId:\nworker: {steps: }\n"])("may set nothing: %j", (source) => {
    expect(read(source)).toEqual({ file: "config.yml", configuration: {}, diagnostics: [] });
  });

  test("says of all that is wrong where it is, and of what nobody knows what may have been meant", () => {
    const source = [
      "worker:",
      "  runtime: dockr",
      "  steps: {docker: {image: 1.10, imageTg: v1}}",
      "  artifacts: {maxFiles: -1, maxFileBytes: lots}",
      "  host: {clusters: [a]}",
      "provisionr: {}",
      "provisioner: {drain: soon, http: text, allowLocalRepos: yes, k8s: {worker: {imagePullSecrets: a}}}",
      "something: else",
    ].join("\n");
    const { configuration, diagnostics } = read(source);
    expect(configuration).toEqual({});
    expect(told(diagnostics)).toEqual([
      '2:12 error[type] worker.runtime: expected one of docker, kubernetes, host, found "dockr"',
      "3:27 error[type] worker.steps.docker.image: expected text, found float",
      "3:33 warning[field-unknown] worker.steps.docker.imageTg: there is no such setting; it is ignored",
      "4:25 error[type] worker.artifacts.maxFiles: expected integer of 0 or more, found -1",
      "4:43 error[type] worker.artifacts.maxFileBytes: expected integer of 0 or more, found text",
      "5:20 error[type] worker.host.clusters: expected map of texts, found list",
      "6:1 warning[field-unknown] provisionr: there is no such setting; it is ignored",
      '7:22 error[type] provisioner.drain: expected a duration such as 1h30m, 45s or 300ms, found "soon"',
      "7:34 error[type] provisioner.http: expected map, found text",
      "7:57 error[type] provisioner.allowLocalRepos: expected boolean, found text",
      "7:95 error[type] provisioner.k8s.worker.imagePullSecrets: expected list, found text",
      "8:1 warning[field-unknown] something: there is no such setting; it is ignored",
    ]);
    const hints = diagnostics.filter(({ code }) => code === "field-unknown").map(({ hint }) => hint);
    expect(hints.slice(0, 2)).toEqual(['did you mean "imageTag"?', 'did you mean "provisioner"?']);
    expect(hints[2]).toMatch(/^known here: instanceId, k8s, /);
    expect(told(read("- a\n").diagnostics)).toEqual(["1:1 error[type] : expected map, found list"]);
    expect(told(read("a: [\n").diagnostics)).toHaveLength(1);
  });
});

describe("variables", () => {
  test("set what files set, as texts", () => {
    const variables = {
      WHARF_INSTANCEID: "1",
      WHARF_WORKER_STEPS_DOCKER_IMAGETAG: "1.10",
      WHARF_WORKER_ARTIFACTS_MAXFILES: "12",
      WHARF_PROVISIONER_ALLOWLOCALREPOS: "yes",
      WHARF_PROVISIONER_K8S_WORKER_EXTRAARGS: "a, b",
      WHARF_WATCHDOG_INTERVAL: "5m",
      WHARF_K8S_CONTEXT: "",
      WHARF_VAR_X: "y",
      WHARF_BUILD_ID: "7",
      WHARF_CONFIG: "file",
    };
    expect(readVariableLayer(variables)).toEqual({
      file: "environment",
      configuration: {
        instanceId: "1",
        "worker.steps.docker.imageTag": "1.10",
        "worker.artifacts.maxFiles": 12,
        "provisioner.allowLocalRepos": true,
        "provisioner.k8s.worker.extraArgs": ["a", "b"],
        "watchdog.interval": 300_000,
      },
      diagnostics: [],
    });
  });

  test("that are wrong, or no settings but begin like them, are told by their names", () => {
    const variables = {
      WHARF_WORKER_ARTIFACTS_MAXFILES: "many",
      WHARF_WORKER_RUNTME: "docker",
      WHARF_WORKER_HOST_CLUSTERS: "a=b",
    };
    const { diagnostics } = readVariableLayer(variables);
    expect(told(diagnostics)).toEqual([
      "- error[type] WHARF_WORKER_ARTIFACTS_MAXFILES: expected integer of 0 or more, found text",
      "- warning[field-unknown] WHARF_WORKER_HOST_CLUSTERS: a file alone can set this; it is ignored",
      "- warning[field-unknown] WHARF_WORKER_RUNTME: there is no such setting; it is ignored",
    ]);
    expect(diagnostics[2]?.hint).toBe("did you mean WHARF_WORKER_RUNTIME?");
  });

  test("are one for each setting", () => {
    expect(keyByVariable.size).toBe(Object.keys(keys).length);
  });
});

describe("where settings are found", () => {
  let root: string;
  beforeEach(async () => {
    root = await newDirectory();
  });
  afterEach(() => rm(root, { recursive: true }));
  const find = (environment: Readonly<Record<string, string>> = {}) =>
    findConfiguration({
      home: `${root}/home`,
      platform: "linux",
      variable: (name) => environment[name],
      environment,
      directory: `${root}/here`,
      root: `${root}/machine`,
    });
  const instanceOf = async (environment?: Readonly<Record<string, string>>) => {
    const { configuration, diagnostics } = await find(environment);
    expect(diagnostics).toEqual([]);
    return configuration.instanceId;
  };

  test("the machine, the user, the working directory, the file that is named, the variables: later ones win", async () => {
    const files = {
      "machine/etc/iver-wharf/wharf-cmd/wharf-cmd-config.yml": "instanceId: machine\nk8s: {context: kept}\n",
      "home/.config/iver-wharf/wharf-cmd/wharf-cmd-config.yml": "instanceId: user\n",
      "here/.wharf-cmd-config.yml": "instanceId: here\n",
      "here/named.yml": "instanceId: named\n",
    };
    expect(await instanceOf()).toBeUndefined();
    const expected = ["machine", "user", "here", "here"];
    for (const [index, [path, content]] of Object.entries(files).entries()) {
      await writeFiles(root, { [path]: content });
      expect(await instanceOf()).toBe(expected[index]);
    }
    expect(await instanceOf({ WHARF_CONFIG: "named.yml" })).toBe("named");
    expect(await instanceOf({ WHARF_CONFIG: `${root}/here/named.yml`, WHARF_INSTANCEID: "variable" })).toBe("variable");
    expect((await find()).configuration["k8s.context"]).toBe("kept");
  });

  test("a directory does not choose who is let in, unless somebody names its settings; what takes away it may", async () => {
    const user = "provisioner: {allowLocalRepos: false, http: {bindAddress: 127.0.0.1:5009}}\n";
    const open =
      "api: {http: {bindAddress: 0.0.0.0:5001, cors: {allowAllOrigins: true}}}\ninstanceId: theirs\n" +
      "provisioner: {allowLocalRepos: true, http: {bindAddress: 0.0.0.0:5009, cors: {allowOrigins: [http://theirs]}}}\n";
    await writeFiles(root, {
      "home/.config/iver-wharf/wharf-cmd/wharf-cmd-config.yml": user,
      "here/.wharf-cmd-config.yml": open,
    });
    const { configuration, diagnostics } = await find();
    expect(configuration).toEqual({
      instanceId: "theirs",
      "provisioner.allowLocalRepos": false,
      "provisioner.http.bindAddress": "127.0.0.1:5009",
    });
    const theirs = `${root}/here/.wharf-cmd-config.yml may belong to another user and cannot set`;
    const who = "who reaches a server of this machine";
    expect(told(diagnostics)).toEqual([
      `- warning[entry-place] api.http.bindAddress: ${theirs} ${who}`,
      `- warning[entry-place] api.http.cors.allowAllOrigins: ${theirs} ${who}`,
      `- warning[entry-place] provisioner.http.bindAddress: ${theirs} ${who}`,
      `- warning[entry-place] provisioner.http.cors.allowOrigins: ${theirs} ${who}`,
      `- warning[entry-place] provisioner.allowLocalRepos: ${theirs} that repositories of this machine can be cloned`,
    ]);
    expect(diagnostics[0]?.hint).toBe("set it in the file of the user, or name that file in WHARF_CONFIG");
    const named = await find({ WHARF_CONFIG: ".wharf-cmd-config.yml" });
    expect(named.configuration["provisioner.http.bindAddress"]).toBe("0.0.0.0:5009");
    expect(named.diagnostics).toEqual([]);
    const less = {
      "here/.wharf-cmd-config.yml": "api: {http: {bindAddress: off}}\nprovisioner: {allowLocalRepos: false}\n",
    };
    await writeFiles(root, less);
    expect((await find()).configuration).toMatchObject({ "api.http.bindAddress": "off" });
    expect((await find()).diagnostics).toEqual([]);
  });

  describe("a token", () => {
    const user = "home/.config/iver-wharf/wharf-cmd/wharf-cmd-config.yml";
    const here = "here/.wharf-cmd-config.yml";
    const secret = "aggregator: {wharfApiUrl: http://ours, wharfApiTokenFile: secret}\n";
    const problems = async (environment?: Readonly<Record<string, string>>) => {
      const { configuration, diagnostics } = await find(environment);
      const { "aggregator.wharfApiUrl": url, "aggregator.wharfApiTokenFile": tokenFile } = configuration;
      return { url, tokenFile, told: told(diagnostics) };
    };

    test("is for the address beside which it stands, and lies beside the file that names it", async () => {
      await writeFiles(root, { [user]: secret });
      const tokenFile = `${root}/${user.replace("wharf-cmd-config.yml", "secret")}`;
      expect(await problems()).toEqual({ url: "http://ours", tokenFile, told: [] });
    });

    test("is not brought to an address that a directory sets", async () => {
      await writeFiles(root, { [user]: secret, [here]: "aggregator: {wharfApiUrl: http://theirs}\n" });
      expect(await problems()).toEqual({
        url: "http://theirs",
        tokenFile: undefined,
        told: [
          `- warning[token-place] aggregator.wharfApiTokenFile: the token of ${root}/${user} is not brought to the address of ${root}/${here}`,
        ],
      });
    });

    test("of a later place is refused where it would go to the address of an earlier one", async () => {
      await writeFiles(root, { [here]: "aggregator: {wharfApiUrl: http://theirs}\n" });
      const { told, tokenFile } = await problems({ WHARF_AGGREGATOR_WHARFAPITOKENFILE: "/secret" });
      expect(tokenFile).toBeUndefined();
      expect(told).toEqual([
        `- error[token-place] aggregator.wharfApiTokenFile: the token of environment would go to the address of ${root}/${here}`,
      ]);
    });

    test("is no matter for a directory, which would say which file is sent where, unless somebody names its settings", async () => {
      await writeFiles(root, { [here]: secret });
      expect(await problems()).toEqual({
        url: "http://ours",
        tokenFile: undefined,
        told: [
          expect.stringMatching(/^- error\[token-place\] .* may belong to another user and cannot name a token file/),
        ],
      });
      const named = await problems({ WHARF_CONFIG: ".wharf-cmd-config.yml" });
      expect(named).toEqual({ url: "http://ours", tokenFile: `${root}/here/secret`, told: [] });
    });

    test("without any address is left, for a server that has been started with it", async () => {
      await writeFiles(root, { [user]: "aggregator: {wharfApiTokenFile: /secret}\n" });
      expect(await problems()).toEqual({ url: undefined, tokenFile: "/secret", told: [] });
    });
  });

  test("a file that is named and not there, and one that cannot be read, are errors; so is what is wrong in any of them", async () => {
    await writeFiles(root, {
      "machine/etc/iver-wharf/wharf-cmd/wharf-cmd-config.yml": "instanceId: [a]\n",
      "here/.wharf-cmd-config.yml/directory": "",
    });
    await chmod(root, 0o700);
    const { diagnostics } = await find({ WHARF_CONFIG: "none.yml", WHARF_WATCHDOG_MINAGE: "x" });
    expect(diagnostics.map(({ severity, code }) => [severity, code])).toEqual([
      ["error", "type"],
      ["error", "unreadable-file"],
      ["error", "unreadable-file"],
      ["error", "type"],
    ]);
    expect(diagnostics[0]?.position).toMatchObject({ line: 1, column: 13 });
    expect(diagnostics[2]?.message).toContain(`cannot read ${root}/here/none.yml`);
  });
});

test("images are configured by name and by tag", () => {
  expect(planSettings({})).toMatchObject({ instance: "local", kubectlImage: "docker.io/wharfse/kubectl:v1.23.5" });
  const settings = planSettings(
    {
      instanceId: "configured",
      "worker.steps.docker.image": "registry:5000/kaniko",
      "worker.steps.kubectl.imageTag": "v2",
      "worker.steps.helm.image": "helm",
      "worker.steps.helmPackage.image": "package:own",
      "worker.steps.nugetPackage.image": "sdk",
      "worker.steps.nugetPackage.imageTag": "8",
    },
    "named",
  );
  expect(settings).toEqual({
    instance: "named",
    dockerImage: "registry:5000/kaniko:v1.7.0",
    helmImage: "helm",
    helmPackageImage: "package:own",
    kubectlImage: "docker.io/wharfse/kubectl:v2",
    nugetImage: "sdk:8",
  });
});
