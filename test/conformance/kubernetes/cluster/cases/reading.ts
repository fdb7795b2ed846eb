import { type Case, eventually, refused } from "../suite/case.ts";
import { configMap, dropWidgets, job, pod, widget, widgetDefinition } from "./documents.ts";

const five = {
  apiVersion: "v1",
  kind: "List",
  items: ["e", "d", "c", "b", "a"].map((name, at) =>
    configMap(name, Object.fromEntries(Array.from({ length: at + 1 }, (_, key) => [`k${key}`, "v"])), {
      labels: { set: "five", parity: at % 2 === 0 ? "even" : "odd" },
    }),
  ),
};
const mine = "-l set=five";

export const readingCases: readonly Case[] = [
  {
    line: 1,
    name: "version names the server",
    steps: [["kubectl version -o json", /"serverVersion": \{[^}]*"gitVersion": "v1\.\d+\.\d+/]],
  },
  {
    line: 1,
    name: "api-resources lists kinds with short names and groups",
    steps: [
      [
        "kubectl api-resources",
        {
          out: [
            /^configmaps +cm +v1 +true +ConfigMap$/m,
            /^pods +po +v1 +true +Pod$/m,
            /^namespaces +ns +v1 +false +Namespace$/m,
            /^jobs +batch\/v1 +true +Job$/m,
            /^leases +coordination\.k8s\.io\/v1 +true +Lease$/m,
          ],
        },
      ],
      ["kubectl api-resources --namespaced=false -o name", { out: /^namespaces$/m, never: /^configmaps$/m }],
      [
        "kubectl api-resources --api-group=batch -o wide",
        /^jobs .*create.*delete.*deletecollection.*get.*list.*patch.*update.*watch/m,
      ],
    ],
  },
  {
    line: 1,
    name: "api-versions lists group-versions",
    steps: [["kubectl api-versions", { out: [/^v1$/m, /^batch\/v1$/m, /^apiextensions\.k8s\.io\/v1$/m] }]],
  },
  {
    line: 1,
    name: "cluster-info says where the control plane is",
    needs: ["services"],
    steps: [["kubectl cluster-info", /is running at .*https:\/\//]],
  },
  {
    line: 1,
    name: "get --raw reads health",
    steps: [
      ["kubectl get --raw /readyz", "ok"],
      ["kubectl get --raw /livez", "ok"],
      ["kubectl get --raw /healthz", "ok"],
      ["kubectl get --raw '/readyz?verbose'", /^\[\+\]/m],
    ],
  },
  {
    line: 11,
    name: "get prints tables, wide ones, yaml, json and names",
    files: { "five.json": five },
    steps: [
      ["kubectl create -f five.json"],
      [`kubectl get cm ${mine}`, /^NAME +DATA +AGE\na +5 +\S+\nb +4 +\S+\nc +3 +\S+\nd +2 +\S+\ne +1 +\S+\n$/],
      [`kubectl get cm ${mine} --no-headers -o wide`, /^a +5 +\S+\n/],
      ["kubectl get cm a -o yaml", /^apiVersion: v1\ndata:\n {2}k0: v\n/],
      [`kubectl get cm ${mine} -o json`, /"kind": "(Configmap)?List"/i],
      [`kubectl get cm ${mine} -o name`, "configmap/a\nconfigmap/b\nconfigmap/c\nconfigmap/d\nconfigmap/e\n"],
      ["kubectl get cm/a cm/b -o name", "configmap/a\nconfigmap/b\n"],
      ["kubectl get cm a nowhere -o name", { code: 1, out: "configmap/a\n", err: /configmaps "nowhere" not found/ }],
    ],
  },
  {
    line: 11,
    name: "get prints jsonpath, custom columns, Go templates, and sorts",
    files: { "five.json": five },
    steps: [
      ["kubectl create -f five.json"],
      [`kubectl get cm ${mine} -o 'jsonpath={.items[*].metadata.name}'`, "a b c d e"],
      [
        `kubectl get cm ${mine} -o 'custom-columns=WHO:.metadata.name,PARITY:.metadata.labels.parity'`,
        /^WHO +PARITY\na +even\nb +odd\n/,
      ],
      [`kubectl get cm ${mine} -o 'go-template={{range .items}}{{.metadata.name}}{{end}}'`, "abcde"],
      [`kubectl get cm ${mine} --sort-by=.metadata.labels.parity -o name | tail -1`, /^configmap\/[bd]\n$/],
      [`kubectl get cm ${mine} --sort-by=.metadata.name`, /^NAME +DATA +AGE\na /],
    ],
  },
  {
    line: 11,
    name: "get selects by labels and fields, in one and all namespaces, in chunks",
    files: { "five.json": five },
    steps: [
      ["kubectl create -f five.json"],
      ["kubectl get cm -l 'set=five,parity!=even' -o name", "configmap/b\nconfigmap/d\n"],
      ["kubectl get cm -l 'parity in (odd,none),set' -o name", "configmap/b\nconfigmap/d\n"],
      ["kubectl get cm --field-selector metadata.name=c -o name", "configmap/c\n"],
      [
        "kubectl get cm -A --field-selector metadata.namespace=$NS,metadata.name=c",
        /^NAMESPACE +NAME +DATA +AGE\n\S+ +c +3 /,
      ],
      [
        `kubectl get cm ${mine} --chunk-size=2 -o name`,
        "configmap/a\nconfigmap/b\nconfigmap/c\nconfigmap/d\nconfigmap/e\n",
      ],
      [`kubectl get cm ${mine} --chunk-size=2 -v=6 2>&1 >/dev/null | grep -c 'configmaps?.*limit=2'`, "3\n"],
      ["kubectl get cm --field-selector data=x", refused(/field label not supported|not a known field selector/)],
    ],
  },
  {
    line: 11,
    name: "get shows labels and kinds, one label as a column, and nothing found",
    files: { "five.json": five },
    steps: [
      ["kubectl create -f five.json"],
      ["kubectl get cm a --show-labels", /^NAME +DATA +AGE +LABELS\na +5 +\S+ +parity=even,set=five\n$/],
      ["kubectl get cm a --show-kind", /^NAME +DATA +AGE\nconfigmap\/a +5 /],
      ["kubectl get cm a -L parity", /^NAME +DATA +AGE +PARITY\na +5 +\S+ +even\n$/],
      ["kubectl get pods", { out: "", err: /^No resources found in \S+ namespace\.\n$/ }],
      ["kubectl get nonsense", refused(/the server doesn't have a resource type "nonsense"/)],
    ],
  },
  {
    line: 11,
    name: "get all lists the kinds of everyday",
    files: { "p.json": pod("p", "sleep 60"), "j.json": job("j", "true") },
    steps: [
      ["kubectl create -f p.json -f j.json"],
      ["kubectl wait --for=condition=complete job/j --timeout=60s"],
      // A definition of another case may be deleted between discovery and the list.
      ["kubectl get all", { out: [/^pod\/p +/m, /^job\.batch\/j +/m], never: /configmap/, eventually: true }],
    ],
  },
  {
    line: 12,
    name: "get -w and --watch-only show each change of others once and in order",
    since: 21,
    files: {
      "change.sh": [
        "set -e",
        "for n in $(seq 1 100); do",
        '  echo "{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"name\\":\\"w$n\\",\\"labels\\":{\\"w\\":\\"1\\"}}}"',
        "done | kubectl create -f - >/dev/null",
        "kubectl label cm -l w=1 changed=1 >/dev/null",
        "kubectl delete cm -l w=1 --wait=false >/dev/null",
        "kubectl create cm last >/dev/null && kubectl label cm last w=1 >/dev/null",
        "",
      ].join("\n"),
      "watch.sh": [
        "kubectl get cm -l w=1 -w --output-watch-events --show-labels >all &",
        "one=$!",
        "kubectl get cm -l w=1 --watch-only -o name >only &",
        "two=$!",
        // A watch is there when it has shown something.
        "kubectl create cm first >/dev/null && kubectl label cm first w=1 >/dev/null",
        "until grep -q first all; do sleep 0.1; done",
        "until grep -q first only; do kubectl annotate cm first n=$(date +%s%N) --overwrite >/dev/null; done",
        "sh change.sh",
        "until grep -q last all && grep -q last only; do sleep 0.1; done",
        "kill $one $two",
        "",
      ].join("\n"),
    },
    steps: [
      ["sh watch.sh"],
      ["grep -c '^ADDED  *w[0-9]' all", "100\n"],
      ["grep -c '^MODIFIED  *w[0-9].* changed=1,w=1$' all", "100\n"],
      ["grep -c '^DELETED  *w[0-9]' all", "100\n"],
      ["seq 1 100 | sed 's/^/w/' >wanted; awk '/^ADDED *w[0-9]/ {print $2}' all | cmp - wanted"],
      [
        "awk '/^[A-Z]* *w[0-9]/ {n[$2] = n[$2] $1} END {for (w in n) print n[w]}' all | sort -u",
        "ADDEDMODIFIEDDELETED\n",
      ],
      ["grep -c '^configmap/w[0-9]' only", "300\n"],
    ],
  },
  {
    line: 13,
    name: "explain describes a built-in field, and recursively all below it",
    since: 21,
    steps: [
      ["kubectl explain job.spec.backoffLimit", /backoffLimit/],
      ["kubectl explain pod.spec.containers", { out: [/\bname\b/, /\bimage\b/, /\bcommand\b/] }],
      ["kubectl explain pods --recursive", { out: [/\bterminationGracePeriodSeconds\b/, /\bmountPath\b/] }],
      ["kubectl explain configmap.nonsense", refused(/field "nonsense" does not exist/)],
    ],
  },
  {
    line: 13,
    name: "explain describes custom kinds as soon as they are there",
    since: 27,
    files: { "crd.json": widgetDefinition() },
    steps: [
      ["kubectl apply -f crd.json && kubectl wait --for=condition=Established crd/$W.$NS.example.org"],
      ["kubectl explain $W.spec", { out: [/What is wanted\./, /\bsize\b/, /How many\./] }],
      ["kubectl explain $W --recursive", { out: [/\bcolor\b/, /\bphase\b/] }],
      [dropWidgets],
    ],
  },
  {
    line: 14,
    name: "describe shows Pods and Jobs with their Events",
    files: { "p.json": pod("p", "true"), "j.json": job("j", "true") },
    steps: [
      ["kubectl create -f p.json -f j.json"],
      ["kubectl wait --for=condition=complete job/j --timeout=60s"],
      ["kubectl get pod p -o 'jsonpath={.status.phase}'", eventually("Succeeded")],
      [
        "kubectl describe pod p",
        { out: [/^Name: +p$/m, /^Status: +Succeeded$/m, /^Events:$/m, /Started/], eventually: true },
      ],
      [
        "kubectl describe job j",
        { out: [/^Name: +j$/m, /^Events:$/m, /SuccessfulCreate/, /Completed/], eventually: true },
      ],
    ],
  },
  {
    line: 14,
    name: "describe shows every other kind of the first tier",
    files: { "crd.json": widgetDefinition(), "w.json": widget("w", { size: 2 }) },
    steps: [
      ["kubectl apply -f crd.json && kubectl wait --for=condition=Established crd/$W.$NS.example.org"],
      ["kubectl apply -f w.json"],
      ["kubectl describe $W w", { out: [/^Name: +w$/m, /Size: +2/, /^Events: +<none>$/m] }],
      ["kubectl describe crd $W.$NS.example.org", /^Name: +widgets-/m],
      ["kubectl create cm c --from-literal=k=v && kubectl describe cm c", { out: [/^k:$/m, /^Events: +<none>$/m] }],
      ["kubectl create secret generic s --from-literal=k=v && kubectl describe secret s", /^k: +1 bytes$/m],
      ["kubectl describe ns $NS", { out: [/^Name: +conf-/m, /^Status: +Active$/m] }],
      ["kubectl describe sa default", /^Name: +default$/m],
      [dropWidgets],
    ],
  },
];
