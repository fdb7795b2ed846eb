import { type Millis, SlipwayError } from "#lib/base/index.ts";

/** The reconciler must not write any more. */
export const reconcileTimedOut = (controller: string, key: string, limit: Millis): SlipwayError =>
  new SlipwayError("reconcile-timeout", `${controller}: the reconcile of "${key}" took longer than ${limit / 1000} s`);

export const controllerStopped = (controller: string): SlipwayError =>
  new SlipwayError("controller-stopped", `the controller ${controller} is stopped`);

/** Ends the process: another one may already act. */
export const leadershipLost = (lease: string, cause: unknown): SlipwayError =>
  new SlipwayError("leadership-lost", `the lease ${lease} could not be renewed in time, another process may lead now`, {
    hint: "the process ends so that nothing is done twice; it is safe to start it again",
    cause,
  });

export const waitTimedOut = (what: string, limit: Millis): SlipwayError =>
  new SlipwayError("wait-timeout", `${what} did not become true within ${limit / 1000} s`);

/** Replacing it could break its owner. */
export const foreignDefinition = (name: string): SlipwayError =>
  new SlipwayError("foreign-crd", `the CustomResourceDefinition ${name} exists and does not belong to Slipway`, {
    hint: "it is left as it is; use --adopt-crds to replace it",
  });

/** `stored` are versions of existing objects that the new definition does not serve. */
export const storageDowngrade = (name: string, stored: readonly string[]): SlipwayError =>
  new SlipwayError(
    "crd-downgrade",
    `objects of ${name} are stored as ${stored.join(", ")}, which this version does not serve`,
    {
      hint: "use a Slipway at least as new as the one that wrote them",
    },
  );
