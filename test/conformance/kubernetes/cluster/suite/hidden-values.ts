import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestServer } from "#test/support/slipway.ts";
import { type Api, type Json, openApi } from "./api.ts";

// Line 47 of the list: no token and no value of a Secret is in what a server writes down or tells of itself, whatever it was asked in a
// whole run of these tests.

/** Shorter ones, such as `v`, stand everywhere by chance. */
const shortestValue = 12;

const secrets = "/api/v1/namespaces/default/secrets";
const marker = "a-value-that-nobody-may-find";

/** Collects what must be found nowhere, while tests run. */
export interface HiddenValues {
  /** Rejects with the places where something was found; call it when the tests are done and before the server stops. */
  check(server: TestServer): Promise<void>;
}

/** Begins to collect: every value of every Secret that is ever stored, the administrator's token, a token of an account. */
export async function collectHiddenValues(kubeconfig: string): Promise<HiddenValues> {
  const api = await openApi(kubeconfig);
  const values = new Set<string>();
  const add = (text: string): void => void (text.length >= shortestValue && values.add(text));
  const watch = await api.watch("/api/v1/secrets?watch=1");
  const collecting = (async () => {
    // For as long as the run takes.
    const next = () => watch.next(24 * 3_600_000);
    for (let event = await next(); event !== undefined; event = await next()) {
      for (const value of Object.values(event.object["data"] ?? {})) {
        add(String(value));
        add(Buffer.from(String(value), "base64").toString());
      }
    }
  })();
  for (const [, token = ""] of (await readFile(kubeconfig, "utf8")).matchAll(/^\s*token: "?([^\s"]+)/gm)) add(token);
  add(await tellInEveryWay(api));
  return {
    async check(server) {
      const { text: metrics } = await api.ask("GET", "/metrics");
      const { text: events } = await api.ask("GET", "/api/v1/events");
      watch.close();
      await collecting;
      api.close();
      // Lines wait for a second at most.
      await server.stop();
      const audit = await readAudit(join(server.directory, "audit"));
      const places = Object.entries({ metrics, events, audit, log: server.log() });
      const found = places
        .filter(([, text]) => [...values].some((value) => text.includes(value)))
        .map(([name]) => name);
      if (found.length > 0) throw new Error(`tokens or values of Secrets were found in: ${found.join(", ")}`);
      // A run that has seen nothing has shown nothing.
      if (!values.has(marker) || !audit.includes('"name":"hidden"')) throw new Error("no Secret was seen");
    },
  };
}

/** A Secret written by every verb, and a token of an account, which is returned. */
async function tellInEveryWay(api: Api): Promise<string> {
  const base64 = Buffer.from(marker).toString("base64");
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "hidden" } };
  const patch = (type: string, body: Json | object) => ({
    bytes: JSON.stringify(body),
    headers: { "Content-Type": `application/${type}` },
  });
  const data = { k: base64 };
  const annotated = { annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ data }) } };
  const writes = [
    await api.ask("POST", secrets, { body: { ...secret, stringData: { k: marker } } }),
    await api.ask("PUT", `${secrets}/hidden`, { body: { ...secret, data } }),
    await api.ask("PATCH", `${secrets}/hidden`, patch("merge-patch+json", { data, metadata: annotated })),
    await api.ask("PATCH", `${secrets}/hidden`, patch("strategic-merge-patch+json", { data: { l: base64 } })),
    await api.ask(
      "PATCH",
      `${secrets}/hidden`,
      patch("json-patch+json", [{ op: "add", path: "/data/m", value: base64 }]),
    ),
    await api.ask(
      "PATCH",
      `${secrets}/hidden?fieldManager=x`,
      patch("apply-patch+yaml", { ...secret, data: { n: base64 } }),
    ),
  ];
  const token = await api.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  });
  const text = String(token.json["status"]?.["token"]);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: text } };
  writes.push(token, await api.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { body: review }));
  for (const { status, text: answer } of writes) if (status > 201) throw new Error(`a write was refused: ${answer}`);
  // Refusals repeat what was wrong, and must not repeat this.
  await api.ask("POST", secrets, { body: { ...secret, metadata: { name: "A_b" }, stringData: { k: marker } } });
  await api.ask("POST", secrets, { body: { ...secret, data: { k: marker } } });
  // Sent to the wrong place by a slip of the pen.
  await api.ask("POST", secrets.replace("secrets", "configmaps"), { body: { ...secret, stringData: { k: marker } } });
  await api.ask("GET", `/api/v1/pods?token=${text}`);
  await api.ask("DELETE", `${secrets}/hidden`);
  return text;
}

async function readAudit(directory: string): Promise<string> {
  const files = await readdir(directory);
  return (await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")))).join("");
}
