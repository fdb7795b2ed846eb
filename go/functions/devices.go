package functions

import (
	"fmt"
	"net"
	"strings"
)

// formatPartition names a partition the way Linux does: links of udev have a suffix of their own, and a name that ends in
// a digit needs a letter between the two numbers.
func formatPartition(device string, partition int) string {
	switch {
	case strings.HasPrefix(device, "/dev/disk/"):
		return fmt.Sprintf("%s-part%d", device, partition)
	case endsInDigit(device):
		return fmt.Sprintf("%sp%d", device, partition)
	}
	return fmt.Sprintf("%s%d", device, partition)
}

func endsInDigit(text string) bool {
	last := len(text) - 1
	return last >= 0 && '0' <= text[last] && text[last] <= '9'
}

// NetmaskToPrefixLength counts the leading ones of an IPv4 mask; a mask with holes counts 0, as net.IPMask says.
func NetmaskToPrefixLength(mask string) (int, error) {
	address := net.ParseIP(mask)
	if address == nil {
		return 0, fmt.Errorf("invalid netmask format: %s", mask)
	}
	short := address.To4()
	if short == nil {
		return 0, fmt.Errorf("netmask must be IPv4: %s", mask)
	}
	ones, _ := net.IPMask(short).Size()
	return ones, nil
}
