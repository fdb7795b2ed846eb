/** A ConfigMap as a client writes it. */
export const configMap = (name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  ...more,
});

/** A Pod of one container. */
export const pod = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "busybox" }] },
});

/** A Widget of the definition below. */
export const widget = (name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: "demo.example.org/v1",
  kind: "Widget",
  metadata: { name, ...metadata },
  ...more,
});

/** Declares Widgets: two versions, a status, a default, a column, a selectable field. */
export const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.demo.example.org" },
  spec: {
    group: "demo.example.org",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", shortNames: ["wd"] },
    scope: "Namespaced",
    versions: [version("v1", true), version("v1beta1", false)],
  },
};

function version(name: string, storage: boolean) {
  return {
    name,
    served: true,
    storage,
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
    selectableFields: [{ jsonPath: ".spec.color" }],
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              size: { type: "integer" },
              color: { type: "string", default: "red" },
              list: { type: "array", items: { type: "string" } },
              free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
          status: { type: "object", properties: { phase: { type: "string" } } },
        },
      },
    },
  };
}
