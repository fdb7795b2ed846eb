import { messageOf } from "#lib/base/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, keyOf } from "#kernel/model/index.ts";
import { WorkflowTemplate } from "./kinds.ts";
import type { Parts } from "./reconcile/pass.ts";
import type { WatchedKinds } from "./watched-kinds.ts";

/** Reads templates with the rights of the workflow's writer, because their content appears in the status. */
export const templateReader = (manager: Manager, kinds: WatchedKinds): Parts["templates"] => ({
  async look(workflow, name, signal) {
    const { namespace } = workflow.metadata;
    const place = { name, ...(namespace === undefined ? {} : { namespace }) };
    const user = keyOf(workflow.metadata);
    kinds.acquire(WorkflowTemplate, user);
    kinds.refer(WorkflowTemplate, keyOf(place), user);
    const client = manager.clientFor(workflow);
    try {
      const template = await client.get<WorkflowTemplate>({ type: WorkflowTemplate, ...place }, { signal });
      return { is: "found", template };
    } catch (thrown) {
      if (isForbidden(thrown)) return { is: "refused", message: messageOf(thrown) };
      if (!isNotFound(thrown)) throw thrown;
      return { is: "missing" };
    }
  },
});
