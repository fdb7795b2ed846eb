// How long single requests hold the event loop of a server: a Workflow of 500 steps that all depend on each other, and JSON patches of
// 10,000 operations. Prints the longest turn of each in milliseconds, of a processor where the machine was busy with something else.
//   npm run build && node bench/held-loop.mjs
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../bin/slipway.cjs", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "slipway-held-"));
const data = join(home, "data");
const probe = join(home, "probe.cjs");
// In the server's own process; a message asks for the longest turn since the last one.
writeFileSync(
  probe,
  `if (process.send !== undefined && require("node:worker_threads").isMainThread) {
    const now = () => [performance.now(), process.cpuUsage()].map((at) => (at.user === undefined ? at : (at.user + at.system) / 1000));
    let [last, longest] = [now(), 0];
    setInterval(() => {
      const at = now();
      longest = Math.max(longest, Math.min(at[0] - last[0], at[1] - last[1]));
      last = at;
    }, 2).unref();
    process.on("message", () => {
      process.send(longest);
      longest = 0;
    });
    process.channel.unref();
  }`,
);
const off = Object.fromEntries(["TINK", "WHARF", "WHARF_PROVISIONER"].map((part) => [`SLIPWAY_${part}_LISTEN`, "off"]));
const env = { ...process.env, ...off, HOME: home, XDG_RUNTIME_DIR: home, KUBECONFIG: join(data, "kubeconfig") };
const server = spawn(process.execPath, ["--require", probe, bin, "up", "--data-dir", data, "--port", "0"], {
  env,
  stdio: ["ignore", "pipe", "ignore", "ipc"],
});
const kubectl = (words, input) => execFileSync("kubectl", words, { env, input, stdio: ["pipe", "ignore", "inherit"] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const longest = () =>
  new Promise((resolve) => {
    server.once("message", resolve);
    server.send("longest");
  });

const keys = Array.from({ length: 500 }, (_, at) => `s${at}`);
const steps = keys.map((key, at) => [key, { wait: { seconds: 3600 }, dependencies: keys.slice(0, at) }]);
const full = (name) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name },
  spec: { steps: Object.fromEntries(steps) },
});
const operations = (operation) => JSON.stringify(Array.from({ length: 10_000 }, (_, at) => operation(at)));
const patchFile = join(home, "patch.json");
const patch = (operation) => () => {
  writeFileSync(patchFile, operations(operation));
  kubectl(["patch", "configmap", "patched", "--type=json", "--patch-file", patchFile]);
};
const create = (name) => () => kubectl(["create", "--validate=false", "-f", "-"], JSON.stringify(full(name)));

try {
  await new Promise((resolve) => server.stdout.once("data", resolve));
  kubectl(["create", "configmap", "patched", "--from-literal=key=0"]);
  await pause(3000);
  const requests = {
    "a full graph of 500 steps": create("full"),
    "another one": create("full-again"),
    "10,000 replacements": patch((at) => ({ op: "replace", path: "/data/key", value: `${at}` })),
    "10,000 additions": patch((at) => ({ op: "add", path: `/data/key${at}`, value: "" })),
    "10,000 removals": patch((at) => ({ op: "remove", path: `/data/key${at}` })),
  };
  for (const [name, request] of Object.entries(requests)) {
    await longest();
    request();
    await pause(2000);
    console.log(`${name.padEnd(28)} ${(await longest()).toFixed(0).padStart(5)} ms`);
  }
} finally {
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(home, { recursive: true, force: true });
}
