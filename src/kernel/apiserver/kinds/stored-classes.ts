import { jsonEquals, objectAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import {
  CertificateSigningRequest,
  ControllerRevision,
  PodTemplate,
  PriorityClass,
  StorageClass,
} from "#kernel/model/index.ts";
import { definitionNames, mapMember, withAbsent, withMembers, withPodSpecDefaults } from "#kernel/specs/index.ts";
import {
  certificateSigningRequestTable,
  controllerRevisionTable,
  podTemplateTable,
  priorityClassTable,
  storageClassTable,
} from "../tables/stored-classes.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { notActedUpon } from "./stored-only.ts";

const immutable =
  (...names: readonly string[]): Rule =>
  (object, { errors }, old) => {
    for (const name of names)
      if (!jsonEquals(valueAt(object, name), valueAt(old, name)))
        errors.push(fieldError.forbidden([name], "may not be changed in an update."));
  };

export const priorityClassKind: BuiltIn = {
  type: PriorityClass,
  definition: definitionNames.priorityClass,
  table: priorityClassTable,
  defaults: (found) => withAbsent(found, { preemptionPolicy: "PreemptLowerPriority" }),
  rules: [notActedUpon(PriorityClass)],
  updateRules: [immutable("value", "preemptionPolicy")],
};

export const storageClassKind: BuiltIn = {
  type: StorageClass,
  definition: definitionNames.storageClass,
  table: storageClassTable,
  defaults: (found) => withAbsent(found, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  rules: [notActedUpon(StorageClass)],
  updateRules: [immutable("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")],
};

/** Other programs may sign. The server records the requestor, and the request cannot change. */
export const certificateSigningRequestKind: BuiltIn = {
  type: CertificateSigningRequest,
  definition: definitionNames.certificateSigningRequest,
  table: certificateSigningRequestTable,
  subresources: ["status"],
  prepareForCreate: (request, writer) => ({
    ...request,
    spec: withMembers(objectAt(request, "spec") ?? {}, {
      username: writer?.user,
      groups: writer?.groups,
      uid: undefined,
      extra: undefined,
    }),
    status: {},
  }),
  prepareForUpdate: (request, old) => withMembers(request, { spec: old["spec"] }),
  rules: [notActedUpon(CertificateSigningRequest)],
  fields: { "spec.signerName": textField("spec", "signerName") },
};

export const controllerRevisionKind: BuiltIn = {
  type: ControllerRevision,
  definition: definitionNames.controllerRevision,
  table: controllerRevisionTable,
  rules: [
    (revision, { errors }) => {
      if (objectAt(revision, "data") === undefined) errors.push(fieldError.required(["data"], "data is mandatory"));
    },
  ],
  updateRules: [immutable("data")],
};

export const podTemplateKind: BuiltIn = {
  type: PodTemplate,
  definition: definitionNames.podTemplate,
  table: podTemplateTable,
  defaults: (found) => mapMember(found, "template", (template) => mapMember(template, "spec", withPodSpecDefaults)),
};
