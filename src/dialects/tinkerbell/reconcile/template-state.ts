import type { JsonObject } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, type Reconciler } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { AnyTemplate } from "./inputs.ts";
import { Template } from "../kinds.ts";
import { functionsOf, type Renderer } from "./prepare.ts";
import { shapeOfTemplate } from "../shape.ts";

/** Reports whether the text of a released template can be parsed. */
export function templateReconciler({
  client,
  renderer,
}: {
  readonly client: ApiClient;
  readonly renderer: Renderer;
}): Reconciler {
  return {
    async reconcile({ namespace = "", name }, { signal }) {
      const ref = { type: Template, namespace, name };
      const template = await getOrUndefined<AnyTemplate>(client, ref, signal);
      const text = template?.spec?.["data"];
      if (template === undefined || typeof text !== "string" || shapeOfTemplate(template.spec) !== "A") return;
      const parsed = await renderer.parse({ id: name, text, functions: functionsOf(template) }, signal);
      // Temporary failures say nothing about the text.
      if (!parsed.ok && parsed.error.kind !== "template") throw new Error(parsed.error.message);
      await tell(
        client,
        template,
        parsed.ok ? { state: "Ready" } : { state: "Error", message: parsed.error.message },
        signal,
      );
    },
  };
}

/** Not written again if unchanged. */
async function tell(
  client: ApiClient,
  template: Stored<AnyTemplate>,
  told: { readonly state: string; readonly message?: string },
  signal: AbortSignal,
): Promise<void> {
  const { status = {} } = template;
  if (status["state"] === told.state && status["message"] === told.message) return;
  const { message: _before, ...kept } = status;
  const next: JsonObject = { ...kept, ...told };
  await client.updateStatus<AnyTemplate>(Template, { ...template, status: next }, { signal });
}
