import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject, ResourceType, Stored } from "#kernel/model/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import type { AnyHardware } from "../hardware.ts";
import { Hardware, Template } from "../kinds.ts";
import { referencesOf } from "../references.ts";
import type { AnyWorkflow } from "../stored.ts";

export type AnyTemplate = KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };

export type Inputs =
  | { readonly template: Stored<AnyTemplate>; readonly hardware: Stored<AnyHardware> | undefined }
  | { readonly missing: string };

/** A workflow that names no hardware is prepared without one. */
export async function readInputs(client: ApiClient, workflow: AnyWorkflow, signal: AbortSignal): Promise<Inputs> {
  const { namespace } = workflow.metadata;
  const names = referencesOf(workflow);
  const read = async <T extends KubeObject>(type: ResourceType, name: string): Promise<Stored<T> | undefined> =>
    name === ""
      ? undefined
      : await getOrUndefined<T>(client, { type, name, ...(namespace === undefined ? {} : { namespace }) }, signal);
  const [template, hardware] = await Promise.all([
    read<AnyTemplate>(Template, names.template),
    read<AnyHardware>(Hardware, names.hardware),
  ]);
  if (template === undefined) return { missing: "template not found" };
  if (hardware === undefined && names.hardware !== "") return { missing: `hardware not found: ${names.hardware}` };
  return { template, hardware };
}
