package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/golang-jwt/jwt"
)

// leeway is the permitted difference between the clocks of issuer and peer.
const leeway = time.Minute

// An issuer checks the JWTs of an app's users with the app's settings.
type issuer struct {
	name      string
	audiences jwt.ClaimStrings
	// Public keys by their algorithm and id.
	keys   map[string]interface{}
	parser *jwt.Parser
}

type webKey struct {
	Type string `json:"kty"`
	ID   string `json:"kid"`
	X    string `json:"x"`
	Y    string `json:"y"`
	N    string `json:"n"`
	E    string `json:"e"`
}

// newIssuer reads an app's setting `jwt`. It returns nil without the setting.
func newIssuer(settings []byte) (*issuer, error) {
	var read struct {
		Issuer   string           `json:"issuer"`
		Audience jwt.ClaimStrings `json:"audience"`
		Set      struct {
			Keys []webKey `json:"keys"`
		} `json:"jwks"`
	}
	if len(settings) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(settings, &read); err != nil {
		return nil, err
	}
	if read.Issuer == "" {
		return nil, nil
	}
	i := &issuer{
		name: read.Issuer, audiences: read.Audience, keys: map[string]interface{}{},
		parser: &jwt.Parser{ValidMethods: []string{"ES256", "RS256"}},
	}
	for _, key := range read.Set.Keys {
		switch key.Type {
		case "EC":
			i.keys["ES256 "+key.ID] = &ecdsa.PublicKey{Curve: elliptic.P256(), X: number(key.X), Y: number(key.Y)}
		case "RSA":
			i.keys["RS256 "+key.ID] = &rsa.PublicKey{N: number(key.N), E: int(number(key.E).Int64())}
		}
	}
	return i, nil
}

func number(text string) *big.Int {
	bytes, _ := base64.RawURLEncoding.DecodeString(text)
	return new(big.Int).SetBytes(bytes)
}

// claims are the checked claims.
type claims struct {
	Issuer    string           `json:"iss"`
	Audience  jwt.ClaimStrings `json:"aud"`
	Subject   string           `json:"sub"`
	ExpiresAt *jwt.NumericDate `json:"exp"`
	NotBefore *jwt.NumericDate `json:"nbf"`
	of        *issuer
}

// Valid is called by the parser after it has verified the signature.
func (c *claims) Valid() error {
	now := time.Now()
	switch {
	case c.Issuer != c.of.name:
		return errors.New("another issuer")
	case !c.of.isAudience(c.Audience):
		return errors.New("another audience")
	case c.ExpiresAt == nil || !now.Before(c.ExpiresAt.Add(leeway)):
		return errors.New("over")
	case c.NotBefore != nil && now.Before(c.NotBefore.Add(-leeway)):
		return errors.New("not yet")
	case c.Subject == "" || len(c.Subject) > 128:
		return errors.New("no subject")
	}
	return nil
}

func (i *issuer) isAudience(named jwt.ClaimStrings) bool {
	for _, name := range named {
		for _, own := range i.audiences {
			if name == own {
				return true
			}
		}
	}
	return false
}

// subject is the user of a valid JWT. Each JWT is verified each time, like in most libraries and gateways.
func (i *issuer) subject(text string) (string, bool) {
	read := &claims{of: i}
	_, err := i.parser.ParseWithClaims(text, read, func(token *jwt.Token) (interface{}, error) {
		id, _ := token.Header["kid"].(string)
		if key, ok := i.keys[token.Method.Alg()+" "+id]; ok {
			return key, nil
		}
		return nil, errors.New("unknown kid")
	})
	return read.Subject, err == nil
}
