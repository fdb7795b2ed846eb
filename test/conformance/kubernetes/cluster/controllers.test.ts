import { seededRandom } from "#kernel/kit/testing/index.ts";
import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { createHttpClient, loadKubeconfig } from "#kernel/kit/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { describeControllers } from "#kernel/kit/controller/controller.contract.ts";
import { CustomResourceDefinition, Namespace, type ResourceType } from "#kernel/model/index.ts";
import { waitUntilServed } from "./suite/served.ts";

// 51. The controllers' suite on the server under test, reached as a user reaches it: by kubeconfig.

const freeForm = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

async function openClient() {
  const connection = await loadKubeconfig({
    files: [inject("kubeconfig")],
    environment: process.env,
    clock: systemClock,
    log: silentLog,
  });
  return createHttpClient({ clock: systemClock, log: silentLog, random: seededRandom(1), connection });
}

describeControllers("by kubeconfig", async () => {
  const client = await openClient();
  const namespace = `conf-${randomBytes(4).toString("hex")}`;
  const widgets: ResourceType = {
    group: `${namespace}.example.org`,
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
  };
  const definition = { type: CustomResourceDefinition, name: `widgets.${widgets.group}` };
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await client.create(CustomResourceDefinition, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: definition.name },
    spec: {
      group: widgets.group,
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: freeForm, status: freeForm } } },
        },
      ],
    },
  });
  await waitUntilServed(client, widgets);
  return {
    client,
    observer: client,
    namespace,
    widgets,
    async close() {
      await client.delete(definition);
      await client.delete({ type: Namespace, name: namespace });
      await client.close();
    },
  };
});
