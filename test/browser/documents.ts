/** Content that tries to break out of the page. */
export const hostile = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata:
  name: hostile
spec:
  steps:
    fails:
      container:
        image: busybox
        command:
          - sh
          - -c
          - |
            printf '\\033[31mred\\033[0m <img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\\n'
            printf 'שלום 😀 \\342\\200\\256evil https://example.com/x javascript:alert(1)\\n'
            head -c 1000000 /dev/zero | tr '\\0' x; echo
            i=0; while [ $i -lt 20000 ]; do printf '\\033[1;31m'; i=$((i+1)); done; echo bomb
            seq 1 3000
            echo '##[error]It did not work'
            seq 1 300
            exit 3
    "ask":
      approval: {message: '<b onmouseover="window.pwned=1">Go on?</b>'}
`;

/** Asks a person. */
export const question = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: question}
spec:
  steps:
    ask: {approval: {message: Go on?}}
`;
