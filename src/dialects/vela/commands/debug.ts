import { err, objectAt, ok, type Result, textAt } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, ConfigMap } from "#kernel/model/index.ts";
import { flatSteps } from "../workflow/status.ts";
import { debugKey, debugName, debugPolicy } from "../workflow/debug-values.ts";
import { workflowStatusOf } from "../view.ts";
import type { NamedRun } from "./named.ts";

export interface DebugRequest extends NamedRun {
  readonly namespace: string;
  readonly step: string;
}

/** What the controller noted of the step's last execution. */
export async function debugValue(
  client: ApiClient,
  { type, namespace, name, step }: DebugRequest,
  signal: AbortSignal,
): Promise<Result<string, { readonly message: string; readonly hint?: string }>> {
  const run = await client.get({ type, namespace, name }, { signal });
  const steps = flatSteps(workflowStatusOf(run));
  const found = steps.find((one) => one.name === step || one.id === step);
  if (found?.id === undefined) {
    const names = steps.map((one) => one.name ?? "").join(", ");
    return err({
      message: `no step "${step}" has started`,
      ...(names === "" ? {} : { hint: `the steps are ${names}` }),
    });
  }
  const ref = { type: ConfigMap, namespace, name: debugName(name, found.id) };
  const map = await getOrUndefined(client, ref, signal);
  const text = map === undefined ? undefined : textAt(objectAt(asJson(map), "data"), debugKey);
  if (text !== undefined) return ok(text);
  const hint = `values are stored with the policy ${debugPolicy}, or the annotation workflowrun.oam.dev/debug: "true"`;
  return err({ message: `no value of step "${step}" is stored`, hint });
}
