import { expect, test } from "vitest";
import { unknownKind } from "./kubernetes-kinds.ts";

test.each([
  ["v1", "Pdo", 'did you mean "Pod"?'],
  ["v1", "configmap", 'did you mean "ConfigMap"?'],
  ["batch/v1", "Jobb", 'did you mean "Job"?'],
  ["v1", "Job", "Job belongs to the group batch"],
  ["batch/v1", "Pod", "Pod belongs to v1"],
  ["apps/v1", "Foo", undefined],
])("%s %s is no kind of Kubernetes: %s", (apiVersion, kind, hint) => {
  expect(unknownKind(apiVersion, kind)).toEqual({ hint });
});

test.each([
  ["v1", "Pod"],
  ["v1", "List"],
  ["batch/v1beta1", "CronJob"],
  ["example.com/v1", "Foo"],
  ["slipway.dev/v1alpha1", "Foo"],
  ["networking.k8s.io/v1", "WhateverComesNext"],
])("nothing is said against %s %s", (apiVersion, kind) => {
  expect(unknownKind(apiVersion, kind)).toBeUndefined();
});
