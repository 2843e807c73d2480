"""Random choices that are the same on every machine and in every version of Python."""

MASK64 = (1 << 64) - 1


def mixed(z):
    """splitmix64's mixing of 64 bits."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


class Choices:
    """A stream of choices from a seed (splitmix64). The state steps by a constant, so a stream begins where its
    seed is scattered to: neighbouring seeds would otherwise have one stream, a word apart."""

    def __init__(self, seed):
        self.state = mixed((seed * 0xBF58476D1CE4E5B9 + 0xD1B54A32D192ED03) & MASK64)

    def word(self):
        """64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK64
        return mixed(self.state)

    def below(self, n):
        """A number from 0 to n - 1."""
        return (self.word() >> 11) % n

    def between(self, low, high):
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent):
        """True in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items):
        """One of the items."""
        return items[self.below(len(items))]

    def weighted(self, table):
        """One of the keys of [(weight, key), ...]."""
        n = self.below(sum(weight for weight, _ in table))
        for weight, key in table:
            if n < weight:
                return key
            n -= weight
        raise AssertionError("weights")
